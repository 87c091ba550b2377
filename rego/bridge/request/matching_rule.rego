package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

_looked_at := 16 # routes whose attachment is checked first; usually the best match is attached

# METADATA
# description: |
#   The rule that serves the request at an entry point, `[route, rule, place]`, the rule as a node and by its place.
#   Undefined if none does.
matching_rule(entry) := [route_key, rule_node(route_key, index), index] if {
	[_, route_key, index] := first_match(entry)
}

# METADATA
# description: A rule of a route as a node, by its place.
rule_node(route_key, index) := keys.section(route_key, hierarchy.section_names(route_key)[index])

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
		some node in {rule_node(route_key, index) | some [_, route_key, index, _] in open}
		[rank, message] := sort({[rank, message] |
			some [rank, route_key, index, message] in open
			rule_node(route_key, index) == node
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
	some [own, index, found] in possible_rules(type, route_key)
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
	own[0] == path_ranks.RegularExpression
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
