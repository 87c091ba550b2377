package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

_looked_at := 16 # routes whose attachment is checked first; usually the best match is attached

# The types of routes that may serve the request at an entry point, in order of preference. A gRPC call is an HTTP
# request, too; the contents of a TLS listener's connection are not visible.
types(entry) := types_by(entry, implementation(entry))

types_by(entry, reading) := _types_by_protocol[request.protocol] if {
	keys.is_frontend(entry)
} else := _types_by_protocol[listener(entry).protocol] if {
	listener(entry).protocol in {"TLS", "TCP", "UDP"}
} else := _types_of_paths if {
	reading.precedence == "Envoy Gateway"
} else := _types_by_protocol.GRPC if {
	request.protocol == "GRPC"
} else := _types_by_protocol.HTTP

# Envoy Gateway compares paths only, so GRPCRoutes serve other requests too.
_types_of_paths := [_http_type, _grpc_type]

_http_type := "gateway.networking.k8s.io/HTTPRoute"

_grpc_type := "gateway.networking.k8s.io/GRPCRoute"

_types_by_protocol := {protocol: [concat("/", [keys.gateway_api, kind]) | some kind in kinds] |
	some protocol, kinds in {
		"HTTP": ["HTTPRoute"],
		"HTTPS": ["HTTPRoute"],
		"GRPC": ["GRPCRoute", "HTTPRoute"],
		"TLS": ["TLSRoute", "TCPRoute"],
		"TCP": ["TCPRoute"],
		"UDP": ["UDPRoute"],
	}
}

# The routes of a type that may serve the request at an entry point, by declaration, `[hostname, route]`: those that the
# index has at a hostname that covers the host and at a prefix of the request's path, so other routes cost nothing.
_candidates(entry, reading, type) := {[name, route_key] |
	some name in _names(entry, reading)
	some route_key in _routes_at(entry, type, name, _paths_above)
}

# Some routes of a type at an entry point whose hostnames cover the host, with the paths most similar to the
# request's: with the same first segments, then with the same first one, then any.
_routes_of_host(entry, type) := {route_key |
	some name in _names(entry, implementation(entry))
	like := _paths_like(entry, name)
	paths := array.concat(like, [path | some path in ["/", "*"]; not path in like])
	some route_key in _routes_at(entry, type, name, array.slice(paths, 0, paths_regarded))
}

# The routes of a type that serve a hostname and one of these paths at an entry point, by declaration.
_routes_at(entry, type, name, paths) := {route_key |
	some parent in entry_parents(entry)
	some path in paths
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

# A beginning is used only if no path has the previous one.
_paths_like(entry, name) := [paths |
	like_the_first := substring(_segments(2), 0, floor(count(_segments(2)) * 0.7))
	some beginning in [_segments(3), _segments(2), like_the_first, ""]
	found := [path | some parent in entry_parents(entry); some path in index.some_served_paths(parent, name, beginning, paths_regarded)]
	paths := array.slice(found, 0, paths_regarded)
	count(paths) > 0
][0]

_segments(number) := concat("/", array.slice(split(request.path, "/"), 0, number))

# The maximum number of examined paths of a hostname if no rule serves a request.
paths_regarded := 20

# The parents that routes name at an entry point, a Gateway, ListenerSet or frontend, and for a default Gateway its key
# in the index.
entry_parents(entry) := {entry} if {
	keys.is_frontend(entry)
} else := {keys.parse(entry).object, index.default_gateways_key} if {
	keys.parse(entry).object in index.default_gateways
} else := {keys.parse(entry).object}

# In a mesh a request is for a Service, so hostnames of routes do not matter (GAMMA). Streams have none.
_names(entry, reading) := {name | some parent in entry_parents(entry); some name in index.served_names(parent)} if {
	any_host(entry)
} else := {name |
	some name in covering_hostnames(request.host)
	_host_rank(entry, reading, name) == virtual_host_rank(entry)
} if {
	reading.virtualHosts
	virtual_host_rank(entry) != no_virtual_host
} else := {name | some name in covering_hostnames(request.host)}

# The rank of the most specific hostname that the listener has in common with an attached route.
virtual_host_rank(entry) := min({no_virtual_host} | {rank |
	some name in covering_hostnames(request.host)
	has_attached(entry, name)
	rank := _host_rank(entry, implementations.envoy, name)
})

# A route is attached to an entry point by a declared hostname. Usually one with the first paths is.
has_attached(entry, name) if {
	attached_at(entry, name) != set()
} else if {
	some parent in entry_parents(entry)
	some route_key in index.routes_with_hostname(parent, name)
	keys.type_of(route_key) in types(entry)
	is_attached(entry, route_key)
}

# Some of the routes that are attached to an entry point by a declared hostname.
attached_at(entry, name) := {route_key |
	some parent in entry_parents(entry)
	some path in index.some_served_paths(parent, name, "", paths_regarded)
	some route_key in index.routes_serving(parent, name, path)
	keys.type_of(route_key) in types(entry)
	is_attached(entry, route_key)
}

any_host(entry) if keys.is_frontend(entry)
any_host(_) if request.protocol in {"TCP", "UDP"}

# The request's path, its prefixes, and routes without a fixed path.
_paths_above := {"*", "/"} | {concat("/", array.slice(segments, 0, number)) |
	segments := split(index.without_last_slash(request.path), "/")
	some number in numbers.range(2, count(segments))
}

# The rule that serves the request at an entry point, `[route, rule, place]`, the rule as a node and by its place.
# Undefined if none does.
matching_rule(entry) := [route_key, _rule_node(route_key, index), index] if {
	[_, route_key, index, _] := first_match(entry, implementation(entry))
}

# The same as another reading of the specification, as a node.
rule_by(entry, reading) := _rule_node(route_key, index) if {
	[_, route_key, index, _] := first_match(entry, reading)
} else := null

_rule_node(route_key, index) := keys.section(route_key, hierarchy.section_names(route_key)[index])

# The rules that would serve the request instead of `matching_rule` if their patterns match, which are not compiled (see
# `_pattern_bounds`): `{node, message}`, in order of precedence. While there are any, the serving rule is unknown.
undecided_rules(entry) := array.slice([rule | some [_, rule] in sort(best)], 0, _candidate_bound) if {
	open := {[rank, {"node": _rule_node(route_key, index), "message": message}] |
		some [rank, route_key, index, unknown] in _ranked(entry, implementation(entry))
		message := min(unknown)
		not _outranked(entry, rank)
		is_attached(entry, route_key)
	}
	best := {min({one | some one in open; one[1].node == rule.node}) | some [_, rule] in open}
}

# Matches with equal ranks are of one rule, which serves the request then.
_outranked(entry, rank) if first_match(entry, implementation(entry))[0] <= rank

# The best match at an entry point of a route that is attached, `[rank, route, place, {}]`, as a reading of the
# specification ranks it (see `implementations`).
first_match(entry, reading) := _attached_matches(entry, array.slice(_known(entry, reading), 0, _looked_at))[0] if {
	true
} else := _attached_matches(entry, _known(entry, reading))[0]

_attached_matches(entry, matches) := [found | some found in matches; is_attached(entry, found[1])]

_known(entry, reading) := [found | some found in _ranked(entry, reading); found[3] == set()]

# A route is attached to an entry point. For a frontend, only routes of the source or the producer count (semantics P6),
# and only those that are bound to the request's port.
is_attached(entry, route_key) if {
	entry in hierarchy.parents(route_key)
	_is_bound(entry, route_key)
}

_is_bound(entry, route_key) if {
	not keys.is_frontend(entry)
} else if {
	own := hierarchy.mesh_ports(entry, route_key, object.get(input, "sourceNamespace", ""))
	count(own & hierarchy.ports_with_number(entry, request.port)) > 0
}

# All rules that match or may match, `[rank, route, place, unknown]`, the best first: by the route's own hostname, by the
# type of the route, by the match, by the route's age, by its name, by the rule's place (HTTPRouteSpec.hostnames,
# HTTPRouteRule.matches). `unknown` has the reasons why patterns of the rule are not compiled.
_ranked(entry, reading) := sort({[rank, route_key, index, ({reason | some reason in reasons} | {reason | reason := delegation(route_key, index)})] |
	some type in types_by(entry, reading)
	some [rank, route_key, index, found] in _possible(entry, reading, type)
	reasons := {one: _not_compiled(one, route_key in _left_out(entry, reading, type)) | some one in found}
	every one in found {
		_may_match(one, reasons)
	}
})

# Why it is unknown which rule serves the requests that a rule matches: it delegates them. Undefined if it does not.
delegation(route_key, place) := delegated_message if {
	index.has_extension_links
	hierarchy.delegates(_rule_node(route_key, place))
}

_may_match(one, reasons) if {
	reasons[one]
} else if {
	_matches_whole(one.expected, one.actual)
}

_not_compiled(_, true) := overweight_message
_not_compiled(one, false) := heavy_message(one)

# Routes with patterns that are not compiled because all together are too many: those that are not attached, which do not
# count for the bound, and the heaviest of the others.
_left_out(entry, reading, type) := set() if {
	count(_overweight_routes(_possible_patterns(entry, reading, type))) == 0
} else := (object.keys(all_patterns) - object.keys(attached)) | _overweight_routes(attached) if {
	all_patterns := _possible_patterns(entry, reading, type)
	attached := {route_key: found | some route_key, found in all_patterns; is_attached(entry, route_key)}
}

_possible_patterns(entry, reading, type) := {route_key: _texts(_possible_matches(reading.precedence, type, route_key)) |
	some [_, route_key] in _candidates(entry, reading, type)
}

_texts(matches) := {one.expected | some match in matches; some one in match.patterns}

# All rules that match if their patterns do, with their ranks.
_possible(entry, reading, type) := {[rank, route_key, match.index, match.patterns] |
	some [name, route_key] in _candidates(entry, reading, type)
	some match in _possible_matches(reading.precedence, type, route_key)
	rank := array.concat(_host_rank(entry, reading, name), match_rank(reading, type, match.conditions, route_key, match.index))
}

# The rank of a match of a route, the lower the better: by the type of the route, the match, the route's age, its name, the
# rule's place. The rank of a hostname precedes it.
match_rank(reading, type, conditions, route_key, index) := array.flatten([
	_match_order(reading.precedence, type, conditions),
	[lookup.age(route_key), keys.alphabetical(route_key), index],
])

_match_order(precedence, type, conditions) := _rank_by_paths(type, conditions) if {
	precedence == "Envoy Gateway"
	type in _types_of_paths
} else := [_order_of_types[type], _rank_by_calls(conditions)] if {
	[precedence, type] == ["Istio", _grpc_type]
} else := [_order_of_types[type], _own_rank(type, conditions)]

# Of routes that may serve one request, those of a type that precede the others.
_order_of_types := {concat("/", [keys.gateway_api, kind]): number |
	some number, kinds in [["GRPCRoute", "TLSRoute", "UDPRoute"], ["HTTPRoute", "TCPRoute"]]
	some kind in kinds
}

_host_rank(entry, _, _) := [] if any_host(entry)
_host_rank(entry, reading, name) := host_rank(entry, reading, name) if not any_host(entry)

# By the routes' own hostnames, not by the intersection with the listener's (Gateway API 1.7, Hostnames); for virtual hosts
# by that intersection.
host_rank(entry, reading, name) := min([specificity(hostname(entry)), specificity(name)]) if {
	reading.virtualHosts
} else := specificity(name)

_possible_matches(precedence, type, route_key) := [match | some match in _matches(precedence, type, route_key); match.misses == set()]

# The matches of the rules of a route, compared with the request: `{index, conditions, path, misses, patterns}`. `index` is
# the place of the rule; `misses` are the parts of the request that the match does not accept, `[part, message]`, and
# `patterns` the conditions that decide then.
_matches(precedence, type, route_key) := [{
	"index": index,
	"conditions": conditions,
	"path": object.get(match, ["path", "value"], "/"),
	"misses": {[one.part, message] | some one in conditions; message := _miss(one)},
	"patterns": {one | some one in conditions; one.type == "RegularExpression"; one.actual != null},
} |
	some index, rule in lookup.get(route_key).spec.rules
	some match in hierarchy.written_matches(rule)
	conditions := conditions_of(precedence, type, match)
]

# The conditions of a match of a route's type by a precedence of matches, `{part, name, type, expected, actual}`; `actual`
# is null if the request has no such value. Other routes have none: a TLSRoute is selected by its hostname, TCPRoute and
# UDPRoute by their listener.
default conditions_of(_, _, _) := []

conditions_of(_, "gateway.networking.k8s.io/HTTPRoute", match) := array.flatten([
	{
		"part": "path",
		"name": "path",
		"type": object.get(match, ["path", "type"], "PathPrefix"),
		"expected": object.get(match, ["path", "value"], "/"),
		"actual": request.path,
	},
	[{"part": "method", "name": "method", "type": "Exact", "expected": match.method, "actual": request.method} | match.method],
	_value_conditions("header", object.get(match, "headers", []), request.headers),
	_value_conditions("query parameter", object.get(match, "queryParams", []), request.query),
])

conditions_of(precedence, "gateway.networking.k8s.io/GRPCRoute", match) := array.concat(
	_call_conditions(precedence, object.get(match, "method", {})),
	_value_conditions("header", object.get(match, "headers", []), request.headers),
)

_call_conditions(precedence, method) := [{"part": "path", "name": part, "type": object.get(method, "type", "Exact"), "expected": expected, "actual": actual} |
	some part, actual in {"service": request.service, "method": request.rpc}
	expected := method[part]
	expected != ""
] if {
	precedence != "Envoy Gateway"
} else := [{"part": "path", "name": "path", "type": type, "expected": expected, "actual": _actual_path(type)} |
	parts := {part: text | some part in ["service", "method"]; text := method[part]; text != ""}
	[type, expected] := _translated_call(parts, object.get(method, "type", "Exact"))
]

# Envoy compares the end of a path with its query.
_actual_path("Suffix") := request.pathAndQuery
_actual_path(type) := request.path if type != "Suffix"

# If several have one name, the first one is compared (HTTPHeaderMatch, HTTPQueryParamMatch).
_value_conditions(part, list, values) := [condition |
	some index, one in list
	name := _name_of(part, one)
	not name in {_name_of(part, earlier) | some earlier in array.slice(list, 0, index)}
	condition := {
		"part": part,
		"name": sprintf("%s %s", [part, name]),
		"type": object.get(one, "type", "Exact"),
		"expected": one.value,
		"actual": object.get(values, name, null),
	}
]

# Names of headers are not case-sensitive.
_name_of("header", one) := lower(one.name)
_name_of("query parameter", one) := one.name

# Why a condition that is not a pattern does not accept the request. A prefix consists of whole segments (HTTPPathMatch).
_miss(one) := sprintf("%s is missing", [one.name]) if {
	one.actual == null
} else := sprintf("path %s is not %s nor below it", [one.actual, one.expected]) if {
	one.type == "PathPrefix"
	not startswith(concat("", [one.actual, "/"]), concat("", [trim_right(one.expected, "/"), "/"]))
} else := sprintf({true: "%s %s is not exactly %s", false: "%s is %s, not %s"}[one.name == "path"], [one.name, one.actual, one.expected]) if {
	one.type == "Exact"
	one.actual != one.expected
} else := sprintf("path and query %s do not end with %s", [one.actual, one.expected]) if {
	one.type == "Suffix"
	not endswith(one.actual, one.expected)
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
	0 - sum([count(one.actual) | some one in conditions; one.name == "service"]),
	0 - sum([count(one.actual) | some one in conditions; one.name == "method"]),
	0 - _number(conditions, "header"),
	{one.type | some one in conditions; one.part == "path"},
]

_own_rank(type, _) := [0] if not type in {_http_type, _grpc_type}

# Istio makes a path of the service and the method of a GRPCRoute's match: an exact one of both, then a prefix of a
# service, then a regular expression, each by its length, then by the most headers.
_rank_by_calls(conditions) := [place, 0 - count(text), 0 - _number(conditions, "header")] if {
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
_rank_by_paths(type, conditions) := array.flatten([
	_path_order[path_type],
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

# A gRPC method as Envoy Gateway translates it, `[type, text]`: a method without a service is the end of a path. Undefined
# for any call.
_translated_call(parts, type) := ["Suffix", concat("", ["/", parts.method])] if {
	type == "Exact"
	not parts.service
} else := ["PathPrefix", concat("", ["/", parts.service])] if {
	type == "Exact"
	not parts.method
} else := [type, concat("/", ["", service, method])] if {
	parts != {}
	service := object.get(parts, "service", `(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*`)
	method := object.get(parts, "method", `[A-Za-z_][A-Za-z_0-9]*`)
}

# The order of the types of paths of Envoy Gateway.
_path_order := {"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}

# A match of a route of this type precedes prefixes because its path is a regular expression, by its rank (see
# `match_rank`). Ranks of other types have no path.
is_pattern_first(reading, type, rank) if {
	reading.precedence == "Envoy Gateway"
	type in _types_of_paths
	rank[0] == _path_order.RegularExpression
}

_number(conditions, part) := count([1 | some one in conditions; one.part == part])

# The order of the types of paths of an HTTPRoute's match.
_path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}

# Compiling a regular expression takes memory that its length does not show: `[a-k1]{1000}` has a thousand classes.
# Tenants write routes, so patterns are estimated by their text, and only those within the bounds are compiled.

# The maximum length of a pattern in characters, and its maximum weight; one unit is about 70 bytes of OPA's memory.
_pattern_bounds := {"length": 1024, "weight": 2000}

# The approximate number of instructions of a regular expression, by its text only: its characters, each repeated part
# times its maximum repetition, all of it times the repetition of groups, and more for classes, especially Unicode
# classes, which are long tables.
pattern_weight(pattern) := ((count(pattern) + repeated) * groups) * _table_factor(pattern) if {
	repeated := sum([weight |
		some [_, atom, least, _, most] in regex.find_all_string_submatch_n(_repeated_atom, pattern, -1)
		weight := (1 + floor(count(atom) / 4)) * _most(least, most) # a class of many ranges is longer
	])
	groups := product([_most(least, most) |
		some [_, least, _, most] in regex.find_all_string_submatch_n(_repeated_group, pattern, -1)
	])
}

_repetition := `\{([0-9]+)(,([0-9]*))?\}`

# A class, an escape or a character before a repetition.
_repeated_atom := concat("", [`(\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\[pPx]\{[^}]*\}|\\[pP].|\\.|[^)])`, _repetition])

_repeated_group := concat("", [`\)`, _repetition])

# Two at least, because an optional part costs one more instruction. RE2 repeats at most 1,000 times.
_most(least, most) := max([2, min([to_number(least), 1001]), min([to_number(more), 1001])]) if {
	more := [text | some text in [most, "0"]; text != ""][0]
}

_table_factor(pattern) := 20 if {
	regex.match(`\\[pP]`, pattern)
} else := 2 if {
	regex.match(`\(\?[a-zA-Z]*i`, pattern)
} else := 1

# Why a pattern is never compiled, even if there are no others.
excess(pattern) := sprintf("has %d characters, at most %d are compiled", [count(pattern), _pattern_bounds.length]) if {
	count(pattern) > _pattern_bounds.length
} else := sprintf("weighs %d, at most %d is compiled", [pattern_weight(pattern), _pattern_bounds.weight]) if {
	pattern_weight(pattern) > _pattern_bounds.weight
}

heavy_message(one) := sprintf("%s is not compared with %s: the pattern %s", [one.part, _shorten(one.expected), excess(one.expected)])

_shorten(pattern) := pattern if {
	count(pattern) <= 80
} else := concat("", [substring(pattern, 0, 80), "…"])

_overweight_routes(patterns_by_route) := overweight({route: weight |
	some route, patterns in patterns_by_route
	weight := sum([pattern_weight(pattern) | some pattern in patterns; not excess(pattern)])
})

# A regular expression matches a whole text. Gateway API leaves its dialect to implementations; the bridge uses RE2.
_matches_whole(pattern, text) if regex.match(sprintf("^(?:%s)$", [pattern]), text)

# The result if routes of the host are attached and none of their rules matches: of each rule the match with the fewest
# differences; a longer common path is nearer.
_no_matching_rule(entry) := {
	"reached": "Route",
	"reason": "NoMatchingRule",
	"message": no_rule_message,
	"candidates": array.slice([candidate | some [_, candidate] in sort(_misses(entry))], 0, _candidate_bound),
} if {
	some name in _names(entry, implementation(entry))
	has_attached(entry, name)
}

_misses(entry) := {[[number, rank], candidate] |
	precedence := implementation(entry).precedence
	some type in types(entry)
	some route_key in _routes_of_host(entry, type)
	is_attached(entry, route_key)
	some index, _ in lookup.get(route_key).spec.rules
	[number, rank, parts] := min({[count(parts), 0 - _common(request.path, match.path), parts] |
		some match in _matches(precedence, type, route_key)
		match.index == index
		parts := match.misses | {[one.part, message] |
			some one in match.patterns
			message := _pattern_miss(one, route_key in _not_compared(entry, type))
		}
	})
	candidate := {"node": _rule_node(route_key, index), "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in sort(parts)])}
} | {[[0, 0], {"node": route_key, "reason": "NoMatch", "message": "has no rules"}] |
	some type in types(entry)
	some route_key in _routes_of_host(entry, type)
	count(object.get(lookup.get(route_key).spec, "rules", [])) == 0
	is_attached(entry, route_key)
}

_pattern_miss(one, uncompared) := heavy_message(one) if {
	true
} else := sprintf("%s is not compared with %s: the patterns of the routes for this host are too many", [one.part, _shorten(one.expected)]) if {
	uncompared
} else := sprintf({true: "%s %s does not match %s", false: "%s is %s, which does not match %s"}[one.name == "path"], [one.name, one.actual, one.expected]) if {
	not _matches_whole(one.expected, one.actual)
}

# Routes whose patterns, together with those of the others, are too many to compile.
_not_compared(entry, type) := _overweight_routes({route_key: _texts(_matches(implementation(entry).precedence, type, route_key)) |
	some route_key in _routes_of_host(entry, type)
})

_common(one, other) := count([index |
	some index in numbers.range(0, min([count(one), count(other)]))
	startswith(one, substring(other, 0, index))
])

_candidate_bound := 5

# The progress of a request that no rule serves, `{reached, reason, message, candidates}`: `reached` is Nothing,
# Gateway, Listener or Route; the candidates are the nearest nodes there, `{node, reason, message}`.
nearest := {"reached": "Nothing", "reason": "NoGateway", "message": "There is no Gateway", "candidates": []} if {
	count(gateways) == 0
} else := _no_listener if {
	count(entry_points) == 0
} else := found if {
	found := [no_rule | some entry in entry_points; no_rule := _no_matching_rule(entry)][0]
} else := _no_route(entry_points[0])

# The user of a command may not read every Gateway, ListenerSet or route, so another rule may serve the request.
is_partly_read if {
	some type in lookup.partly_read
	levels.of_type(type) in {"Gateway", "ListenerSet", "Route"}
}

# `nearest` where what may serve the request was not read.
as_far_as_read(near) := object.union(near, {"reason": "CannotTell", "message": message}) if {
	message := {
		true: "You can't read the Gateways, so the rule that serves this request is unknown",
		false: sprintf("No rule that you can read serves this request. %s", [near.message]),
	}[near.reason == "NoGateway"]
}

_no_listener := {
	"reached": "Gateway",
	"reason": "NoListener",
	"message": no_listener_message,
	"candidates": array.slice(
		[candidate | some [_, candidate] in sort({[rank, candidate] |
			some gateway in gateways
			some node in listeners_of(gateway)
			reason := listener_refusal(node)
			some rank, name in ["HostnameConflict", "ProtocolConflict", "HostnameDiffers", "PortDiffers", "ProtocolDiffers"]
			name == reason
			candidate := {"node": node, "reason": reason, "message": _listener_message(node)}
		})],
		0, _candidate_bound,
	),
}

_listener_message(node) := hierarchy.unaccepted_message(node) if {
	listener_refusal(node) in {"HostnameConflict", "ProtocolConflict"}
} else := sprintf("accepts %s on port %v for %s", [found.protocol, found.port, _host_named(hostname(node))]) if {
	found := listener(node)
}

_host_named(name) := {true: "any hostname", false: name}[name == "*"]

# No route of the host is attached: candidates are those that the listener rejects, then those that name another one,
# or else routes of other hostnames.
_no_route(entry) := {
	"reached": "Listener",
	"reason": "NoRoute",
	"message": no_route_message(route_kinds(types(entry)), keys.describe(entry)),
	"candidates": _near(entry),
}

# The kinds of these types of routes, as a text.
route_kinds(route_types) := concat(" or ", [split(type, "/")[1] | some type in route_types])

_near(entry) := [one | some elsewhere in [false, true]; some one in hosted; one.reason == "OtherListener" == elsewhere] if {
	hosted := [object.union({"node": route_key}, _why_not(entry, route_key)) |
		some type in types(entry)
		some route_key in array.slice(sort(_routes_of_host(entry, type)), 0, _candidate_bound)
	]
	count(hosted) > 0
} else := [{"node": route_key, "reason": "ProtocolDiffers", "message": "serves gRPC calls only"} |
	some route_key in array.slice(sort(calls_only), 0, _candidate_bound)
] if {
	calls_only := {route_key | some route_key in _routes_of_host(entry, _grpc_type); is_attached(entry, route_key)}
	count(calls_only) > 0
} else := _of_other_hosts(entry)

_why_not(entry, route_key) := {"reason": reason, "message": message} if {
	[_, reason, message] := min({[link.parent, link.reason, link.message] |
		some link in hierarchy.rejected_above(route_key)
		link.parent in {entry, keys.parse(entry).object}
	})
} else := {"reason": "OtherListener", "message": message} if {
	others := sort({keys.describe(node) | some node in hierarchy.parents(route_key)})
	message := [text |
		some text in array.concat(
			[sprintf("is attached to %s", [concat(", ", others)]) | others != []],
			["names another listener, and is attached to none"],
		)
	][0]
}

_of_other_hosts(entry) := [{"node": route_key, "reason": "HostnameDiffers", "message": message} |
	not any_host(entry)
	some name in _similar_names(entry)
	not name in covering_hostnames(request.host)
	some parent in entry_parents(entry)
	some path in index.some_served_paths(parent, name, "", 1)
	route_key := sort(index.routes_serving(parent, name, path))[0]
	message := sprintf("serves %s", [_host_named(name)])
]

# Those in the same domain, otherwise any.
_similar_names(entry) := [names |
	labels := split(request.host, ".")
	some ending in [concat(".", array.slice(labels, max([count(labels) - 2, 0]), count(labels))), ""]
	found := [name | some parent in entry_parents(entry); some name in index.some_served_names(parent, ending, _candidate_bound)]
	names := array.slice(found, 0, _candidate_bound)
	count(names) > 0
][0]
