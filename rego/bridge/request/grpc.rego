package bridge.request

import data.bridge.lookup

# By the characters of the service, then of the method, then by the most headers (GRPCRouteRule.matches).
possible_rules("gateway.networking.k8s.io/GRPCRoute", route_key) := {[rank, index, patterns("gateway.networking.k8s.io/GRPCRoute", match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in matches(rule)
	count(plain_misses("gateway.networking.k8s.io/GRPCRoute", match)) == 0
	rank := [
		0 - count(object.get(match, ["method", "service"], "")), 0 - count(object.get(match, ["method", "method"], "")), 0 - count(distinct_values(object.get(match, "headers", []), true)),
	]
}

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
