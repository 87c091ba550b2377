package bridge.request

import data.bridge.lookup

# METADATA
# description: |
#   The rules of a route that match the request if their patterns do, `[rank, rule, patterns]`, the better the lower:
#   for an HTTPRoute by an exact path, the longest prefix, the longest regular expression (implementation-specific in
#   Gateway API), then a method, the most headers, the most query parameters (HTTPRouteRule.matches).
possible_rules("gateway.networking.k8s.io/HTTPRoute", route_key) := {[rank, index, patterns("gateway.networking.k8s.io/HTTPRoute", match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in matches(rule)
	count(plain_misses("gateway.networking.k8s.io/HTTPRoute", match)) == 0
	path := path_of(match)
	rank := [
		path_ranks[path.type], 0 - count(trim_right(path.value, "/")), count({1 | not match.method}), 0 - count(distinct_values(object.get(match, "headers", []), true)), 0 - count(distinct_values(object.get(match, "queryParams", []), false)),
	]
}

# METADATA
# description: The matches of a rule. A rule without matches matches all.
matches(rule) := rule.matches if {
	count(rule.matches) > 0
} else := [{}]

# METADATA
# description: The order of the types of paths of an HTTPRoute's match.
path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}

# METADATA
# description: The path of an HTTPRoute's match, with its defaults.
path_of(match) := {
	"type": object.get(match, ["path", "type"], "PathPrefix"),
	"value": object.get(match, ["path", "value"], "/"),
}

# METADATA
# description: |
#   The parts of the request that a match of a route's type does not accept, `[part, message]`, without its patterns;
#   empty if it matches.
plain_misses("gateway.networking.k8s.io/HTTPRoute", match) := union({
	_path_misses(path_of(match)),
	{["method", sprintf("method is %s, not %s", [request.method, match.method])] | match.method != request.method},
	value_misses("header", distinct_values(object.get(match, "headers", []), true), request.headers),
	value_misses("query parameter", distinct_values(object.get(match, "queryParams", []), false), request.query),
})

# METADATA
# description: |
#   The patterns of a match of a route's type that decide whether it accepts the request (see `value_patterns`).
patterns("gateway.networking.k8s.io/HTTPRoute", match) := union({
	{{"part": "path", "pattern": path.value, "text": request.path, "says": sprintf("path %s", [request.path])} |
		path := path_of(match)
		path.type == "RegularExpression"
	},
	value_patterns("header", distinct_values(object.get(match, "headers", []), true), request.headers),
	value_patterns("query parameter", distinct_values(object.get(match, "queryParams", []), false), request.query),
})

_path_misses(path) := {["path", sprintf("path %s is not exactly %s", [request.path, path.value])] |
	path.type == "Exact"
	path.value != request.path
} | {["path", sprintf("path %s is not %s nor below it", [request.path, path.value])] |
	path.type == "PathPrefix"
	not _below(request.path, trim_right(path.value, "/"))
}

# A prefix consists of whole segments (HTTPPathMatch).
_below(path, prefix) if path == prefix

_below(path, prefix) if startswith(path, concat("", [prefix, "/"]))
