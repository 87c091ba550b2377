package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

_looked_at := 16 # routes whose attachment is judged at first; mostly the best match is attached

# METADATA
# description: |
#   The rule that serves the request at an entry point, `[route, rule, place]`, the rule as a node and by its place.
#   Undefined where none does. Of gRPC requests those that no GRPCRoute takes may be an HTTPRoute's.
chosen(entry) := [route_key, keys.section(route_key, hierarchy.section_names(route_key)[index]), index] if {
	[route_key, index] := _first_of(entry, _types[0])
} else := [route_key, keys.section(route_key, hierarchy.section_names(route_key)[index]), index] if {
	[route_key, index] := _first_of(entry, _types[1])
}

_first_of(entry, type) := attached[0] if {
	ranked := array.slice(_ranked(entry, type), 0, _looked_at)
	attached := [[route_key, index] | some [_, route_key, index] in ranked; _is_attached(entry, route_key)]
	count(attached) > 0
} else := attached[0] if {
	ranked := array.slice(_ranked(entry, type), _looked_at, count(_ranked(entry, type)))
	attached := [[route_key, index] | some [_, route_key, index] in ranked; _is_attached(entry, route_key)]
	count(attached) > 0
}

# Of a frontend's routes only the source's own, or the producer's, count (semantics P6).
_is_attached(entry, route_key) if {
	entry in hierarchy.parents(route_key)
	hierarchy.counts_for([entry, route_key], object.get(input, "sourceNamespace", ""))
}

# All matches, the best first: by the hostname in common, by the match, by the route's age, by its name, by the rule's place
# (HTTPRouteSpec.hostnames, HTTPRouteRule.matches).
_ranked(entry, type) := sort({[rank, route_key, index] |
	some [name, route_key] in candidates(entry, type)
	some [own, index] in matching_rules(type, route_key)
	rank := array.flatten([
		_host_rank(entry, name),
		own,
		[lookup.age(route_key), keys.alphabetical(route_key), index],
	])
})

_host_rank(entry, name) := specificity(intersected(name, hostname(entry))) if {
	not _any_host(entry)
} else := [0, 0]
