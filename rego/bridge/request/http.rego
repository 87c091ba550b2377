package bridge.request

import data.bridge.lookup

# METADATA
# description: |
#   The rules of a route that match the request, `[rank, rule]`, the better the lower: for an HTTPRoute by an exact path,
#   the longest prefix, a regular expression (which Gateway API leaves open: the longest), then a method, the most headers,
#   the most query parameters (HTTPRouteRule.matches).
matching_rules("gateway.networking.k8s.io/HTTPRoute", route_key) := {[rank, index] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in _matches(rule)
	count(http_misses(match)) == 0
	path := path_of(match)
	rank := [
		_path_ranks[path.type], 0 - count(trim_right(path.value, "/")), count({1 | not match.method}), 0 - count(_distinct(object.get(match, "headers", []), true)), 0 - count(_distinct(object.get(match, "queryParams", []), false)),
	]
}

# A rule without matches matches all.
_matches(rule) := rule.matches if {
	count(rule.matches) > 0
} else := [{}]

_path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}

# METADATA
# description: The path of an HTTPRoute's match, with what it leaves out.
path_of(match) := {
	"type": object.get(match, ["path", "type"], "PathPrefix"),
	"value": object.get(match, ["path", "value"], "/"),
}

# METADATA
# description: What of the request an HTTPRoute's match does not take, `[part, message]`; none where it matches.
http_misses(match) := union({
	_path_misses(path_of(match)),
	{["method", sprintf("method is %s, not %s", [asked.method, match.method])] | match.method != asked.method},
	value_misses("header", _distinct(object.get(match, "headers", []), true), asked.headers),
	value_misses("query parameter", _distinct(object.get(match, "queryParams", []), false), asked.query),
})

_path_misses(path) := ({["path", sprintf("path %s is not exactly %s", [asked.path, path.value])] |
	path.type == "Exact"
	path.value != asked.path
} | {["path", sprintf("path %s is not %s nor below it", [asked.path, path.value])] |
	path.type == "PathPrefix"
	not _below(asked.path, trim_right(path.value, "/"))
}) | {["path", sprintf("path %s does not match %s", [asked.path, path.value])] |
	path.type == "RegularExpression"
	not _wholly(path.value, asked.path)
}

# A prefix is one of whole segments (HTTPPathMatch).
_below(path, prefix) if path == prefix

_below(path, prefix) if startswith(path, concat("", [prefix, "/"]))
