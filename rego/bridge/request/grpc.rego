package bridge.request

import data.bridge.lookup

# By the characters of the service, then of the method, then by the most headers (GRPCRouteRule.matches).
matching_rules("gateway.networking.k8s.io/GRPCRoute", route_key) := {[rank, index] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in _matches(rule)
	count(grpc_misses(match)) == 0
	rank := [
		0 - count(object.get(match, ["method", "service"], "")), 0 - count(object.get(match, ["method", "method"], "")), 0 - count(_distinct(object.get(match, "headers", []), true)),
	]
}

# METADATA
# description: What of the request a GRPCRoute's match does not take, `[part, message]`; none where it matches.
grpc_misses(match) := union({
	_grpc_miss("service", object.get(match, "method", {}), asked.service),
	_grpc_miss("method", object.get(match, "method", {}), asked.rpc),
	value_misses("header", _distinct(object.get(match, "headers", []), true), asked.headers),
})

_grpc_miss(part, method, value) := {["path", sprintf("%s is %s, not %s", [part, value, wanted])] |
	wanted := object.get(method, part, "")
	wanted != ""
	object.get(method, "type", "Exact") == "Exact"
	value != wanted
} | {["path", sprintf("%s is %s, which does not match %s", [part, value, wanted])] |
	wanted := object.get(method, part, "")
	wanted != ""
	method.type == "RegularExpression"
	not _wholly(wanted, value)
}
