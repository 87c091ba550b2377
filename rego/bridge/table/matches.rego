package bridge.table

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.matches
import data.bridge.lookup
import data.bridge.request as requests

# METADATA
# description: |
#   The matches of a route as they are written, `[path, rule's place, match's place, match]`. `path` is where the table has
#   the match: `=` and an exact path, a prefix with a slash at the end, a gRPC service, or `*`.
written(route) := [[path_of_match(keys.type_of(route), match), index, place, match] |
	some index, rule in lookup.get(route).spec.rules
	some place, match in hierarchy.written_matches(rule)
	is_object(match)
]

path_of_match("gateway.networking.k8s.io/HTTPRoute", match) := concat("", ["=", match.path.value]) if {
	match.path.type == "Exact"
} else := "*" if {
	match.path.type == "RegularExpression"
} else := concat("", [trim_right(object.get(match, ["path", "value"], "/"), "/"), "/"])

path_of_match("gateway.networking.k8s.io/GRPCRoute", match) := match.method.service if {
	object.get(match.method, "type", "Exact") == "Exact"
	match.method.service != ""
} else := "*"

path_of_match(type, _) := "*" if not type in {requests.http_type, requests.grpc_type}

# METADATA
# description: |
#   A match of a route as the table has it for an implementation, by id: the `route`, the `place` of its rule, and `ranks` by
#   precedence of matches, the lower the better, without the hostname's. `conditions` are those besides the path, as
#   `[place in the request, type, value]`; `patterns` `[place, expression, weight]`; `counted` are places whose lengths
#   are in the rank, where patterns match. `heavy` says why a pattern is not compiled; `delegated` rules hand requests on,
#   and it is unknown to which; `weighted` routes may precede others by a setting of their controller.
records(own, route, index, place, match) := {sprintf("%s#%d/%d%s", [route, index, place, mark]): record |
	type := keys.type_of(route)
	some mark, precedences in _precedences_alike(type, own.precedence)
	conditions := matches.conditions_of(precedences[0], type, match)
	patterns := [one | some one in conditions; one.type == "RegularExpression"]
	compiled := [one | some one in patterns; not excess(one.expected)]
	excesses := {excess_message(one) | some one in patterns; not one in compiled}
	record := object.union_n([
		{
			"route": route,
			"place": sprintf("%d", [index]),
			"ranks": {precedence: _rank(precedence, type, conditions, route, index) | some precedence in precedences},
			"conditions": [[one.at, _way(one), one.expected] | some one in conditions; _is_compared(type, one)],
			"patterns": [[one.at, whole(one.expected), pattern_weight(one.expected)] | some one in compiled],
		},
		{"heavy": min(excesses) | excesses != set()},
		{"counted": [[one.at[0] | some one in conditions; one.at == [part]] | some part in ["service", "rpc"]] |
			type == requests.grpc_type
			some one in patterns
			one.part == "path"
		},
		{"delegated": true | delegates(route, index)},
		{"weighted": true | is_weighted(route)},
	])
}

# kgateway compares this annotation before everything else, if its setting for weighted routes is on.
is_weighted(route) if lookup.get(route).metadata.annotations["kgateway.dev/route-weight"]

# The precedences of matches of an implementation and of Gateway API, with which a warning compares it, in groups for which
# a match has the same conditions. Envoy Gateway compares paths, where others compare a call's service and method.
_precedences_alike("gateway.networking.k8s.io/GRPCRoute", "Envoy Gateway") := {"": ["Envoy Gateway"], "/other": ["Gateway API"]}

_precedences_alike(type, "Envoy Gateway") := {"": ["Envoy Gateway", "Gateway API"]} if type != requests.grpc_type
_precedences_alike(_, "Istio") := {"": ["Istio", "Gateway API"]}
_precedences_alike(_, "Gateway API") := {"": ["Gateway API"]}

# METADATA
# description: A rule delegates its requests to other routes.
delegates(route, position) if {
	index.has_extension_links
	hierarchy.delegates(keys.section(route, hierarchy.section_names(route)[position]))
}

# The way to compare a value with the request's that is not by the table's paths. A header or parameter with a pattern must
# be there.
_way(one) := one.type if {
	one.type in {"Exact", "Suffix"}
} else := "Present"

_is_compared(type, one) if {
	one.part != "path"
} else if {
	type == requests.grpc_type
	one.type in {"Exact", "Suffix"}
}

# The rank of a match, the lower the better: by the type of the route, the match, the route's age, its name, the rule's
# place. The rank of a hostname precedes it.
_rank(precedence, type, conditions, route, index) := array.flatten([
	_match_order(precedence, type, conditions),
	[lookup.age(route), keys.alphabetical(route), index],
])

_match_order(precedence, type, conditions) := rank_by_paths(type, conditions) if {
	precedence == "Envoy Gateway"
	type in {requests.http_type, requests.grpc_type}
} else := [_order_of_types[type], rank_by_calls(conditions)] if {
	[precedence, type] == ["Istio", requests.grpc_type]
} else := [_order_of_types[type], _own_rank(type, conditions)]

# Of routes that may serve one request, those of a type that precede the others.
_order_of_types := {
	"gateway.networking.k8s.io/GRPCRoute": 0,
	"gateway.networking.k8s.io/TLSRoute": 0,
	"gateway.networking.k8s.io/UDPRoute": 0,
	"gateway.networking.k8s.io/HTTPRoute": 1,
	"gateway.networking.k8s.io/TCPRoute": 1,
}

# By an exact path, the longest prefix, the longest regular expression (implementation-specific in Gateway API), then a
# method, the most headers, the most query parameters (HTTPRouteRule.matches).
_own_rank("gateway.networking.k8s.io/HTTPRoute", conditions) := [
	_path_ranks[conditions[0].type],
	0 - count(trim_right(conditions[0].expected, "/")),
	0 - _number(conditions, "method"),
	0 - _number(conditions, "header"),
	0 - _number(conditions, "query parameter"),
]

# By the characters of the service that matches, then of the method, then by the most headers (GRPCRouteRule.matches).
# A pattern counts the characters that it matches, not its own; of equal matches the exact one is first.
_own_rank("gateway.networking.k8s.io/GRPCRoute", conditions) := [
	0 - sum([count(one.expected) | some one in conditions; one.name == "service"]),
	0 - sum([count(one.expected) | some one in conditions; one.name == "method"]),
	0 - _number(conditions, "header"),
	{one.type | some one in conditions; one.part == "path"},
]

_own_rank(type, _) := [0] if not type in {requests.http_type, requests.grpc_type}

# Istio makes a path of the service and the method of a GRPCRoute's match: an exact one of both, then a prefix of a
# service, then a regular expression, each by its length, then by the most headers.
rank_by_calls(conditions) := [place, 0 - count(text), 0 - _number(conditions, "header")] if {
	parts := {one.name: one.expected | some one in conditions; one.part == "path"}
	[place, text] := _call_path(parts, {one.type | some one in conditions; one.part == "path"})
}

_call_path(parts, types) := [3, ""] if {
	parts == {}
} else := [0, sprintf("/%s/%s", [parts.service, parts.method])] if {
	types == {"Exact"}
} else := [1, sprintf("/%s/", [parts.service])] if {
	types == {"Exact"}
	not parts.method
} else := [2, sprintf("/%s/%s", [object.get(parts, "service", "[^/]+"), object.get(parts, "method", ".+")])]

# Envoy Gateway makes one list of the matches of HTTPRoutes and GRPCRoutes: by an exact path, a regular expression, a prefix,
# each by its length, then by the most headers, of which the method is one, the most exact ones, and so the query
# parameters; HTTPRoutes precede.
rank_by_paths(type, conditions) := array.flatten([
	path_order[path_type],
	0 - _path_length(path_type, text),
	[[0 - count(types), 0 - count([1 | some "Exact" in types])] | some types in [found.headers, found.query]],
	0 - _order_of_types[type],
]) if {
	found := _translated(conditions)
	[path_type, text] := found.path
}

_path_length(path_type, text) := 0 if {
	[path_type, text] == ["PathPrefix", "/"]
} else := count(text)

# A match as Envoy Gateway translates it: its path `[type, text]`, and the types of its other conditions. A condition on
# the end of the path is one on the header `:path`.
_translated(conditions) := {
	"path": _translated_path(conditions),
	"headers": [one.type | some one in conditions; _is_of_headers(one)],
	"query": [one.type | some one in conditions; one.part == "query parameter"],
}

_translated_path(conditions) := [[one.type, one.expected] | some one in conditions; one.part == "path"; one.type != "Suffix"][0] if {
	true
} else := ["PathPrefix", "/"]

_is_of_headers(one) if one.part in {"header", "method"}
_is_of_headers(one) if one.type == "Suffix"

# METADATA
# description: The order of the types of paths of Envoy Gateway, in the rank of a match after the two numbers of its hostname.
path_order := {"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}

_number(conditions, part) := count([1 | some one in conditions; one.part == part])

# The order of the types of paths of an HTTPRoute's match.
_path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}
