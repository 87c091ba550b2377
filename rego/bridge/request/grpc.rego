package bridge.request

import data.bridge.lookup

# By the characters of the service that matches, then of the method, then by the most headers (GRPCRouteRule.matches).
# A pattern counts the characters that it matches, not its own; of equal matches the exact one is first.
possible_rules("gateway.networking.k8s.io/GRPCRoute", route_key) := {[rank, index, patterns("gateway.networking.k8s.io/GRPCRoute", match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in matches(rule)
	count(plain_misses("gateway.networking.k8s.io/GRPCRoute", match)) == 0
	method := object.get(match, "method", {})
	rank := [
		0 - _matched(method, "service", request.service), 0 - _matched(method, "method", request.rpc), 0 - count(distinct_values(object.get(match, "headers", []), true)),
		object.get(method, "type", "Exact"),
	]
}

_matched(method, part, value) := count(value) if object.get(method, part, "") != ""

_matched(method, part, _) := 0 if object.get(method, part, "") == ""

plain_misses("gateway.networking.k8s.io/GRPCRoute", match) := union({
	_grpc_miss("service", object.get(match, "method", {}), request.service),
	_grpc_miss("method", object.get(match, "method", {}), request.rpc),
	value_misses("header", distinct_values(object.get(match, "headers", []), true), request.headers),
})

patterns("gateway.networking.k8s.io/GRPCRoute", match) := union({
	_grpc_patterns("service", object.get(match, "method", {}), request.service),
	_grpc_patterns("method", object.get(match, "method", {}), request.rpc),
	value_patterns("header", distinct_values(object.get(match, "headers", []), true), request.headers),
})

_grpc_patterns(part, method, value) := {{"part": "path", "pattern": expected, "text": value, "says": sprintf("%s is %s, which", [part, value])} |
	method.type == "RegularExpression"
	expected := object.get(method, part, "")
	expected != ""
}

_grpc_miss(part, method, value) := {["path", sprintf("%s is %s, not %s", [part, value, expected])] |
	expected := object.get(method, part, "")
	expected != ""
	object.get(method, "type", "Exact") == "Exact"
	value != expected
}
