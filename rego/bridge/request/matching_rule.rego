package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

_looked_at := 16 # routes whose attachment is checked first; usually the best match is attached

# METADATA
# description: |
#   The rule that serves the request at an entry point, `[route, rule, place]`, the rule as a node and by its place.
#   Undefined if none does.
matching_rule(entry) := [route_key, _rule_node(route_key, index), index] if {
	[_, route_key, index] := first_match(entry)
}

# A rule of a route as a node, by its place.
_rule_node(route_key, index) := keys.section(route_key, hierarchy.section_names(route_key)[index])

# METADATA
# description: |
#   The rules that would serve the request instead of `matching_rule` if their patterns match, which are not compiled
#   (see `patterns.rego`): `{node, message}`, in order of precedence. While there are any, the serving rule is unknown.
undecided_rules(entry) := [candidate | some [_, candidate] in array.slice(sort(best), 0, 5)] if {
	open := {[rank, route_key, index, message] |
		some [rank, route_key, index, message] in _open_rules(entry)
		not _outranked(entry, rank)
		is_attached(entry, route_key)
	}
	best := {[rank, {"node": node, "message": message}] |
		some node in {_rule_node(route_key, index) | some [_, route_key, index, _] in open}
		[rank, message] := sort({[rank, message] |
			some [rank, route_key, index, message] in open
			_rule_node(route_key, index) == node
		})[0]
	}
}

_outranked(entry, rank) if first_match(entry)[0] < rank

# METADATA
# description: The best match at an entry point of a route that is attached, `[rank, route, place]`.
first_match(entry) := attached[0] if {
	ranked := array.slice(_ranked(entry), 0, _looked_at)
	attached := [found | some found in ranked; is_attached(entry, found[1])]
	count(attached) > 0
} else := attached[0] if {
	ranked := array.slice(_ranked(entry), _looked_at, count(_ranked(entry)))
	attached := [found | some found in ranked; is_attached(entry, found[1])]
	count(attached) > 0
}

# METADATA
# description: |
#   A route is attached to an entry point. For a frontend, only routes of the source or the producer count (semantics
#   P6), and only those that are bound to the request's port.
is_attached(entry, route_key) if {
	entry in hierarchy.parents(route_key)
	not keys.is_frontend(entry)
}

is_attached(entry, route_key) if {
	keys.is_frontend(entry)
	entry in hierarchy.parents(route_key)
	own := hierarchy.mesh_ports(entry, route_key, object.get(input, "sourceNamespace", ""))
	count(own & hierarchy.ports_with_number(entry, request.port)) > 0
}

# All matches, the best first: by the route's own hostname, by the type of the route, by the match, by the route's age,
# by its name, by the rule's place (HTTPRouteSpec.hostnames, HTTPRouteRule.matches).
_ranked(entry) := sort({[rank, route_key, index] |
	some type in types(entry)
	some [rank, route_key, index, found] in _regarded_rules(entry, type)
	every one in found {
		not is_too_heavy(one.pattern)
		matches_whole(one.pattern, one.text)
	}
})

# Rules with patterns that are not compiled and with other patterns that match, each with the reason.
_open_rules(entry) := {[rank, route_key, index, message] |
	some type in types(entry)
	some [rank, route_key, index, found] in _regarded_rules(entry, type)
	heavy := {one | some one in found; is_too_heavy(one.pattern)}
	count(heavy) > 0
	every one in found - heavy {
		matches_whole(one.pattern, one.text)
	}
	message := sort({heavy_message(one) | some one in heavy})[0]
} | {[rank, route_key, index, "the patterns of the routes for this request are too many to compile, and those of this route are the heaviest"] |
	some type in types(entry)
	some [rank, route_key, index, found] in _possible(entry, type)
	count(found) > 0
	route_key in _left_out(entry, type)
}

_regarded_rules(entry, type) := _possible(entry, type) if {
	count(_overweight(entry, type)) == 0
} else := {possible |
	some possible in _possible(entry, type)
	is_attached(entry, possible[1])
	not possible[1] in _left_out(entry, type)
}

# Routes that are not attached do not count for the bound.
_left_out(entry, type) := set() if {
	count(_overweight(entry, type)) == 0
} else := overweight_routes({route_key: found |
	some route_key, found in _patterns_by_route(entry, type)
	is_attached(entry, route_key)
})

_overweight(entry, type) := overweight_routes(_patterns_by_route(entry, type))

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
	some [name, route_key] in candidates(entry, type)
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

# METADATA
# description: The rank of a regular expression for a path where the Gateway's implementation is known to prefer it to prefixes.
pattern_before_prefix := 0.5

# By the routes' own hostnames, not by the intersection with the listener's (Gateway API 1.7, Hostnames).
_host_rank(entry, name) := specificity(name) if {
	not any_host(entry)
} else := [0, 0]

# The rules of a route that match the request if their patterns do, `[rank, rule, patterns]`, the better the lower:
# for an HTTPRoute by an exact path, the longest prefix, the longest regular expression (implementation-specific in
# Gateway API), then a method, the most headers, the most query parameters (HTTPRouteRule.matches).
_possible_rules("gateway.networking.k8s.io/HTTPRoute", route_key) := {[rank, index, patterns("gateway.networking.k8s.io/HTTPRoute", match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in matches(rule)
	count(plain_misses("gateway.networking.k8s.io/HTTPRoute", match)) == 0
	path := path_of(match)
	rank := [
		_path_ranks[path.type], 0 - count(trim_right(path.value, "/")), count({1 | not match.method}), 0 - count(_distinct_values(object.get(match, "headers", []), true)), 0 - count(_distinct_values(object.get(match, "queryParams", []), false)),
	]
}

# METADATA
# description: The matches of a rule. A rule without matches matches all.
matches(rule) := rule.matches if {
	count(rule.matches) > 0
} else := [{}]

# The order of the types of paths of an HTTPRoute's match.
_path_ranks := {"Exact": 0, "PathPrefix": 1, "RegularExpression": 2}

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
	_value_misses("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
	_value_misses("query parameter", _distinct_values(object.get(match, "queryParams", []), false), request.query),
})

# METADATA
# description: |
#   The patterns of a match of a route's type that decide whether it accepts the request (see `_value_patterns`).
patterns("gateway.networking.k8s.io/HTTPRoute", match) := union({
	{{"part": "path", "pattern": path.value, "text": request.path, "says": sprintf("path %s", [request.path])} |
		path := path_of(match)
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

# By the characters of the service that matches, then of the method, then by the most headers (GRPCRouteRule.matches).
# A pattern counts the characters that it matches, not its own; of equal matches the exact one is first.
_possible_rules("gateway.networking.k8s.io/GRPCRoute", route_key) := {[rank, index, patterns("gateway.networking.k8s.io/GRPCRoute", match)] |
	some index, rule in lookup.get(route_key).spec.rules
	some match in matches(rule)
	count(plain_misses("gateway.networking.k8s.io/GRPCRoute", match)) == 0
	method := object.get(match, "method", {})
	rank := [
		0 - _matched(method, "service", request.service), 0 - _matched(method, "method", request.rpc), 0 - count(_distinct_values(object.get(match, "headers", []), true)),
		object.get(method, "type", "Exact"),
	]
}

_matched(method, part, value) := count(value) if object.get(method, part, "") != ""

_matched(method, part, _) := 0 if object.get(method, part, "") == ""

plain_misses("gateway.networking.k8s.io/GRPCRoute", match) := union({
	_grpc_miss("service", object.get(match, "method", {}), request.service),
	_grpc_miss("method", object.get(match, "method", {}), request.rpc),
	_value_misses("header", _distinct_values(object.get(match, "headers", []), true), request.headers),
})

patterns("gateway.networking.k8s.io/GRPCRoute", match) := union({
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

# Routes without matches are served by the first rule: a TLSRoute by its hostname, TCPRoute and UDPRoute by their
# listener.
_possible_rules(type, route_key) := {[[0], 0, set()] | lookup.get(route_key).spec.rules[0]} if {
	not type in {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"}
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

# METADATA
# description: A pattern is never compiled, even if there are no others.
is_too_heavy(pattern) if {
	count(pattern) > _pattern_bounds.length
} else if {
	_pattern_weight(pattern) > _pattern_bounds.weight
} else := false

# METADATA
# description: The message for a pattern that is too heavy to compile.
heavy_message(one) := sprintf("%s is not compared with %s: the pattern has %d characters, at most %d are compiled", [
	one.part, shorten(one.pattern), count(one.pattern), _pattern_bounds.length,
]) if {
	count(one.pattern) > _pattern_bounds.length
} else := sprintf("%s is not compared with %s: the pattern weighs %d, at most %d is compiled", [
	one.part, shorten(one.pattern), _pattern_weight(one.pattern), _pattern_bounds.weight,
])

# METADATA
# description: A pattern in the form for messages.
shorten(pattern) := pattern if {
	count(pattern) <= 80
} else := concat("", [substring(pattern, 0, 80), "…"])

# METADATA
# description: |
#   Of routes with the patterns to compile for each (`{route: {patterns}}`), those whose patterns are too many. Routes
#   with the lowest weight are kept, so one route cannot use the bound of all others.
overweight_routes(patterns_by_route) := set() if {
	sum([weight | some weight in _weights(patterns_by_route)]) <= _query_bound
} else := {route | some route, weight in _weights(patterns_by_route); weight > _limit(_weights(patterns_by_route))}

_weights(patterns_by_route) := {route: weight |
	some route, patterns in patterns_by_route
	weight := sum([_pattern_weight(pattern) | some pattern in patterns; not is_too_heavy(pattern)])
}

_limit(weights) := max({0} | {limit |
	some exponent in numbers.range(0, 17)
	limit := bits.lsh(1, exponent)
	sum([weight | some weight in weights; weight <= limit]) <= _query_bound
})

# METADATA
# description: |
#   A regular expression matches a whole text. Gateway API leaves its dialect to implementations; the bridge uses RE2.
matches_whole(pattern, text) if regex.match(sprintf("^(?:%s)$", [pattern]), text)
