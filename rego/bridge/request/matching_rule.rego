package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

_looked_at := 16 # routes whose attachment is checked first; usually the best match is attached

# The types of routes that may serve the request at an entry point, in order of preference. A gRPC call is an HTTP
# request, too; the contents of a TLS listener's connection are not visible.
types(entry) := _types_by_protocol[request.protocol] if {
	keys.is_frontend(entry)
} else := _types_by_protocol[listener(entry).protocol] if {
	listener(entry).protocol in {"TLS", "TCP", "UDP"}
} else := _types_by_protocol.GRPC if {
	request.protocol == "GRPC"
} else := _types_by_protocol.HTTP

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

# The routes of a type that may serve the request at an entry point, by declaration, `[hostname, route]`: those that
# the index has at a hostname that covers the host and at a prefix of the request's path, so other routes cost
# nothing.
_candidates(entry, type) := {[name, route_key] |
	some name in _names(entry)
	some path in _paths_above
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

# Some routes of a type at an entry point whose hostnames cover the host, with the paths most similar to the
# request's: with the same first segments, then with the same first one, then any.
_routes_of_host(entry, type) := {route_key |
	some name in _names(entry)
	some path in _paths_near(entry, name)
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

_paths_near(entry, name) := array.slice(near, 0, paths_regarded) if {
	near := array.concat(_paths_like(entry, name), [path | some path in ["/", "*"]; not path in _paths_like(entry, name)])
}

# Each beginning counts only if no path has the previous one.
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
_names(entry) := {name | some parent in entry_parents(entry); some name in index.served_names(parent)} if {
	any_host(entry)
} else := {name | some name in covering_hostnames(request.host)}

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
	[_, route_key, index, _] := first_match(entry)
}

_rule_node(route_key, index) := keys.section(route_key, hierarchy.section_names(route_key)[index])

# The rules that would serve the request instead of `matching_rule` if their patterns match, which are not compiled (see
# `_pattern_bounds`): `{node, message}`, in order of precedence. While there are any, the serving rule is unknown.
undecided_rules(entry) := array.slice([rule | some [_, rule] in sort(best)], 0, 5) if {
	open := {[_rule_node(route_key, index), [rank, message]] |
		some [rank, route_key, index, unknown] in _ranked(entry)
		message := min(unknown)
		not _outranked(entry, rank)
		is_attached(entry, route_key)
	}
	best := {[rank, {"node": node, "message": message}] |
		some node in {node | some [node, _] in open}
		[rank, message] := min({ranked | some [other, ranked] in open; other == node})
	}
}

_outranked(entry, rank) if first_match(entry)[0] < rank

# The best match at an entry point of a route that is attached, `[rank, route, place, {}]`.
first_match(entry) := _first_attached(entry, 0, _looked_at) if {
	true
} else := _first_attached(entry, _looked_at, count(_ranked(entry)))

_first_attached(entry, from, to) := [found | some found in array.slice(_known(entry), from, to); is_attached(entry, found[1])][0]

_known(entry) := [found | some found in _ranked(entry); found[3] == set()]

# A route is attached to an entry point. For a frontend, only routes of the source or the producer count (semantics P6),
# and only those that are bound to the request's port.
is_attached(entry, route_key) if {
	entry in hierarchy.parents(route_key)
	_is_bound(entry, route_key)
}

_is_bound(entry, _) if not keys.is_frontend(entry)

_is_bound(entry, route_key) if {
	keys.is_frontend(entry)
	own := hierarchy.mesh_ports(entry, route_key, object.get(input, "sourceNamespace", ""))
	count(own & hierarchy.ports_with_number(entry, request.port)) > 0
}

# All rules that match or may match, `[rank, route, place, unknown]`, the best first: by the route's own hostname, by the
# type of the route, by the match, by the route's age, by its name, by the rule's place (HTTPRouteSpec.hostnames,
# HTTPRouteRule.matches). `unknown` has the reasons why patterns of the rule are not compiled.
_ranked(entry) := sort({[rank, route_key, index, {reason | some reason in reasons}] |
	some type in types(entry)
	some [rank, route_key, index, found] in _possible(entry, type)
	reasons := {one: _not_compiled(one, route_key in _left_out(entry, type)) | some one in found}
	every one in found {
		_may_match(one, reasons)
	}
})

_may_match(one, reasons) if reasons[one]

_may_match(one, reasons) if {
	not reasons[one]
	_matches_whole(one.pattern, one.text)
}

_not_compiled(_, true) := "the patterns of the routes for this request are too many to compile, and those of this route are the heaviest"
_not_compiled(one, false) := _heavy_message(one) if _is_too_heavy(one.pattern)

# Routes with patterns that are not compiled because all together are too many: those that are not attached, which do not
# count for the bound, and the heaviest of the others.
_left_out(entry, type) := set() if {
	count(_overweight_routes(_patterns_by_route(entry, type))) == 0
} else := (object.keys(all_patterns) - object.keys(attached)) | _overweight_routes(attached) if {
	all_patterns := _patterns_by_route(entry, type)
	attached := {route_key: found | some route_key, found in all_patterns; is_attached(entry, route_key)}
}

_patterns_by_route(entry, type) := {route_key: found |
	some route_key in {route_key | some [_, route_key, _, found] in _possible(entry, type); count(found) > 0}
	found := {one.pattern |
		some [_, other, _, ones] in _possible(entry, type)
		other == route_key
		some one in ones
	}
}

# All rules that match if their patterns do, with their ranks.
_possible(entry, type) := {[rank, route_key, index, found] |
	some [name, route_key] in _candidates(entry, type)
	some [own, index, found] in _possible_rules(type, route_key)
	some number, other in types(entry)
	other == type
	rank := array.flatten([
		_host_rank(entry, name),
		number,
		_own_rank(type, own),
		[lookup.age(route_key), keys.alphabetical(route_key), index],
	])
}

# Envoy Gateway puts regular expressions between exact paths and prefixes.
_own_rank(type, own) := array.concat([pattern_before_prefix], array.slice(own, 1, count(own))) if {
	type == "gateway.networking.k8s.io/HTTPRoute"
	own[0] == _path_ranks.RegularExpression
	lookup.get(_class).spec.controllerName == "gateway.envoyproxy.io/gatewayclass-controller"
} else := own

_class := concat("/", ["gateway.networking.k8s.io/GatewayClass/-", lookup.get(input.gateway).spec.gatewayClassName])

# The rank of a regular expression for a path where the Gateway's implementation is known to prefer it to prefixes.
pattern_before_prefix := 0.5

# By the routes' own hostnames, not by the intersection with the listener's (Gateway API 1.7, Hostnames).
_host_rank(entry, name) := specificity(name) if {
	not any_host(entry)
} else := [0, 0]

# The rules of a route that match the request if their patterns do, `[rank, rule, patterns]`, the better the lower. Routes
# without matches are served by the first rule: a TLSRoute by its hostname, TCPRoute and UDPRoute by their listener.
_possible_rules(type, route_key) := {[_match_rank(type, match), index, _patterns(type, match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in _matches(rule)
	count(_plain_misses(type, match)) == 0
} if {
	type in {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"}
} else := {[[0], 0, set()] | lookup.get(route_key).spec.rules[0]}

# By an exact path, the longest prefix, the longest regular expression (implementation-specific in Gateway API), then a
# method, the most headers, the most query parameters (HTTPRouteRule.matches).
_match_rank("gateway.networking.k8s.io/HTTPRoute", match) := [
	_path_ranks[path.type],
	0 - count(trim_right(path.value, "/")),
	count({1 | not match.method}),
	0 - count(_distinct_values(object.get(match, "headers", []), true)),
	0 - count(_distinct_values(object.get(match, "queryParams", []), false)),
] if path := _path_of(match)

# By the characters of the service that matches, then of the method, then by the most headers (GRPCRouteRule.matches).
# A pattern counts the characters that it matches, not its own; of equal matches the exact one is first.
_match_rank("gateway.networking.k8s.io/GRPCRoute", match) := [
	0 - _matched(method, "service", request.service),
	0 - _matched(method, "method", request.rpc),
	0 - count(_distinct_values(object.get(match, "headers", []), true)),
	object.get(method, "type", "Exact"),
] if method := object.get(match, "method", {})

_matched(method, part, value) := count(value) if {
	object.get(method, part, "") != ""
} else := 0

# The matches of a rule. A rule without matches matches all.
_matches(rule) := rule.matches if {
	count(rule.matches) > 0
} else := [{}]

_path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}

_path_of(match) := {
	"type": object.get(match, ["path", "type"], "PathPrefix"),
	"value": object.get(match, ["path", "value"], "/"),
}

# The parts of the request that a match of a route's type does not accept, `[part, message]`, without its patterns;
# empty if it matches.
_plain_misses("gateway.networking.k8s.io/HTTPRoute", match) := union({
	_path_misses(_path_of(match)),
	{["method", sprintf("method is %s, not %s", [request.method, match.method])] | match.method != request.method},
	_value_misses("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
	_value_misses("query parameter", _distinct_values(object.get(match, "queryParams", []), false), request.query),
})

# The patterns of a match of a route's type that decide whether it accepts the request (see `_value_patterns`).
_patterns("gateway.networking.k8s.io/HTTPRoute", match) := union({
	{{"part": "path", "pattern": path.value, "text": request.path, "says": sprintf("path %s", [request.path])} |
		path := _path_of(match)
		path.type == "RegularExpression"
	},
	_value_patterns("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
	_value_patterns("query parameter", _distinct_values(object.get(match, "queryParams", []), false), request.query),
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

_plain_misses("gateway.networking.k8s.io/GRPCRoute", match) := union({
	_grpc_miss("service", object.get(match, "method", {}), request.service),
	_grpc_miss("method", object.get(match, "method", {}), request.rpc),
	_value_misses("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
})

_patterns("gateway.networking.k8s.io/GRPCRoute", match) := union({
	_grpc_patterns("service", object.get(match, "method", {}), request.service),
	_grpc_patterns("method", object.get(match, "method", {}), request.rpc),
	_value_patterns("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
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

# The conditions of a match on headers or query parameters that the request (name > value) does not fulfill, `[part,
# message]`, without patterns.
_value_misses(part, conditions, values) := {[part, message] |
	some one in conditions
	message := _value_miss(part, one, object.get(values, one.name, null))
}

# The patterns among the conditions of a match on headers or query parameters of the request, each as `{part, pattern,
# text, says}`: `says` is the text before the pattern in a message.
_value_patterns(part, conditions, values) := {{
	"part": part,
	"pattern": one.value,
	"text": values[one.name],
	"says": sprintf("%s %s is %s, which", [part, one.name, values[one.name]]),
} |
	some one in conditions
	one.type == "RegularExpression"
	values[one.name]
}

_value_miss(part, one, null) := sprintf("%s %s is missing", [part, one.name])

_value_miss(part, one, value) := sprintf("%s %s is %s, not %s", [part, one.name, value, one.value]) if {
	value != null
	object.get(one, "type", "Exact") == "Exact"
	value != one.value
}

# Of several with one name the first counts; names of headers are not case-sensitive (HTTPHeaderMatch,
# HTTPQueryParamMatch).
_distinct_values(list, fold) := [object.union(one, {"name": _name_of(one, fold)}) |
	some index, one in list
	not _name_of(one, fold) in {_name_of(earlier, fold) | some earlier in array.slice(list, 0, index)}
]

_name_of(one, true) := lower(one.name)
_name_of(one, false) := one.name

# Compiling a regular expression takes memory that its length does not show: `[a-k1]{1000}` has a thousand classes.
# Tenants write routes, so patterns are estimated by their text, and only those within the bounds are compiled.

# The maximum length of a pattern in characters, and its maximum weight; one unit is about 70 bytes of OPA's memory.
_pattern_bounds := {"length": 1024, "weight": 2000}

# The maximum weight of all patterns that one query compiles.
_query_bound := 200000

# The approximate number of instructions of a regular expression, by its text only: its characters, each repeated part
# times its maximum repetition, all of it times the repetition of groups, and more for classes, especially Unicode
# classes, which are long tables.
_pattern_weight(pattern) := ((count(pattern) + repeated) * groups) * _table_factor(pattern) if {
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

# A pattern is never compiled, even if there are no others.
_is_too_heavy(pattern) if {
	count(pattern) > _pattern_bounds.length
} else if {
	_pattern_weight(pattern) > _pattern_bounds.weight
} else := false

_heavy_message(one) := sprintf("%s is not compared with %s: the pattern has %d characters, at most %d are compiled", [
	one.part, _shorten(one.pattern), count(one.pattern), _pattern_bounds.length,
]) if {
	count(one.pattern) > _pattern_bounds.length
} else := sprintf("%s is not compared with %s: the pattern weighs %d, at most %d is compiled", [
	one.part, _shorten(one.pattern), _pattern_weight(one.pattern), _pattern_bounds.weight,
])

_shorten(pattern) := pattern if {
	count(pattern) <= 80
} else := concat("", [substring(pattern, 0, 80), "…"])

# Of routes with the patterns to compile for each (`{route: {patterns}}`), those whose patterns are too many. Routes
# with the lowest weight are kept, so one route cannot use the bound of all others.
_overweight_routes(patterns_by_route) := set() if {
	sum([weight | some weight in _weights(patterns_by_route)]) <= _query_bound
} else := {route | some route, weight in _weights(patterns_by_route); weight > _limit(_weights(patterns_by_route))}

_weights(patterns_by_route) := {route: weight |
	some route, patterns in patterns_by_route
	weight := sum([_pattern_weight(pattern) | some pattern in patterns; not _is_too_heavy(pattern)])
}

_limit(weights) := max({0} | {limit |
	some exponent in numbers.range(0, 17)
	limit := bits.lsh(1, exponent)
	sum([weight | some weight in weights; weight <= limit]) <= _query_bound
})

# A regular expression matches a whole text. Gateway API leaves its dialect to implementations; the bridge uses RE2.
_matches_whole(pattern, text) if regex.match(sprintf("^(?:%s)$", [pattern]), text)

# The result if routes of the host are attached and none of their rules matches.
_no_matching_rule(entry) := {
	"reached": "Route",
	"reason": "NoMatchingRule",
	"message": sprintf("No rule of the routes for %s matches", [request.host]),
	"candidates": array.slice([candidate | some [_, candidate] in sort(misses)], 0, _candidate_bound),
} if {
	misses := {[[count(parts), rank], candidate] |
		some type in types(entry)
		some route_key in _routes_of_host(entry, type)
		is_attached(entry, route_key)
		some index, rule in lookup.get(route_key).spec.rules
		[parts, rank] := _best_miss(type, rule, route_key in _not_compared(entry, type))
		candidate := {"node": _rule_node(route_key, index), "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in parts])}
	}
	count(misses) > 0
}

# The match of a rule with the fewest differences; a longer common path is nearer.
_best_miss(type, rule, uncompared) := [sort(parts), rank] if {
	[_, rank, parts] := sort({[count(parts), rank, parts] |
		some match in _matches(rule)
		parts := _plain_misses(type, match) | {[one.part, message] |
			some one in _patterns(type, match)
			message := _pattern_miss(one, uncompared)
		}
		rank := 0 - _common(request.path, _path_of(match).value)
	})[0]
}

_pattern_miss(one, uncompared) := _heavy_message(one) if {
	_is_too_heavy(one.pattern)
} else := sprintf("%s is not compared with %s: the patterns of the routes for this host are too many", [one.part, _shorten(one.pattern)]) if {
	uncompared
} else := sprintf("%s does not match %s", [one.says, one.pattern]) if {
	not _matches_whole(one.pattern, one.text)
}

# Routes whose patterns, together with those of the others, are too many to compile.
_not_compared(entry, type) := _overweight_routes({route_key: found |
	some route_key in _routes_of_host(entry, type)
	found := {one.pattern |
		some rule in lookup.get(route_key).spec.rules
		some match in _matches(rule)
		some one in _patterns(type, match)
	}
	count(found) > 0
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

# The same if rules are undecided, so the serving rule is unknown.
undecided_answer(rules) := {
	"reached": "Route",
	"reason": "CannotTell",
	"message": sprintf("Cannot tell: %s may serve it, and its pattern is not compiled", [_short(rules[0].node)]),
	"candidates": [object.union(rule, {"reason": "PatternNotCompiled"}) | some rule in rules],
}

_no_listener := {
	"reached": "Gateway",
	"reason": "NoListener",
	"message": sprintf("No listener accepts %s", [_described]),
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

_described := sprintf("%s%s%s", [request.protocol, _for_host, _on_port])

_for_host := {true: "", false: sprintf(" for %s", [request.host])}[request.host == ""]

_on_port := {true: "", false: sprintf(" on port %d", [request.port])}[request.port == 0]

# No route of the host is attached: candidates are those that the listener rejects, then routes of other hostnames.
_no_route(entry) := {
	"reached": "Listener",
	"reason": "NoRoute",
	"message": sprintf("No route%s is attached to %s", [_for_host, _short(entry)]),
	"candidates": _near(entry),
}

# Routes that name this listener come before those that name another one.
_near(entry) := array.concat(
	[one | some one in _hosted_at(entry); one.reason != "OtherListener"],
	[one | some one in _hosted_at(entry); one.reason == "OtherListener"],
) if {
	count(_hosted_at(entry)) > 0
} else := _of_other_hosts(entry)

_hosted_at(entry) := [{"node": route_key, "reason": candidate[0], "message": candidate[1]} |
	some type in types(entry)
	some route_key in array.slice(sort(_routes_of_host(entry, type)), 0, _candidate_bound)
	candidate := _why_not(entry, route_key)
]

_why_not(entry, route_key) := candidate[0] if {
	candidate := [[link.reason, link.message] |
		some link in hierarchy.rejected_links(route_key)
		link.child == route_key
		link.parent in {entry, keys.parse(entry).object}
	]
	count(candidate) > 0
} else := ["NoMatch", "has no rule"] if {
	entry in hierarchy.parents(route_key)
} else := ["OtherListener", sprintf("is attached to %s", [concat(", ", sort(others))])] if {
	others := {_short(node) | some node in hierarchy.parents(route_key)}
	count(others) > 0
} else := ["OtherListener", "names another listener, and is attached to none"]

_of_other_hosts(entry) := [{"node": route_key, "reason": "HostnameDiffers", "message": message} |
	not any_host(entry)
	some name in _similar_names(entry)
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

_short(node) := sprintf("%s %s%s", [parts.kind, keys.short(node), section]) if {
	parts := keys.parse(node)
	section := {true: "", false: concat("", ["#", parts.section])}[parts.section == ""]
}
