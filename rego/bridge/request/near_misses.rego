package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The result if routes of the host are attached and none of their rules matches.
no_matching_rule(entry) := {
	"reached": "Route",
	"reason": "NoMatchingRule",
	"message": sprintf("No rule of the routes for %s matches", [request.host]),
	"candidates": array.slice([candidate | some [_, candidate] in sort(misses)], 0, candidate_bound),
} if {
	misses := {[[count(parts), rank], candidate] |
		some type in types(entry)
		some route_key in routes_of_host(entry, type)
		is_attached(entry, route_key)
		some index, rule in lookup.get(route_key).spec.rules
		[parts, rank] := _best_miss(type, rule, route_key in _not_compared(entry, type))
		node := keys.section(route_key, hierarchy.section_names(route_key)[index])
		candidate := {"node": node, "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in parts])}
	}
	count(misses) > 0
}

# The match of a rule with the fewest differences; a longer common path is nearer.
_best_miss(type, rule, uncompared) := [sort(parts), rank] if {
	[_, rank, parts] := sort({[count(parts), rank, parts] |
		some match in matches(rule)
		parts := plain_misses(type, match) | {[one.part, message] |
			some one in patterns(type, match)
			message := _pattern_miss(one, uncompared)
		}
		rank := 0 - _common(request.path, path_of(match).value)
	})[0]
}

_pattern_miss(one, uncompared) := heavy_message(one) if {
	is_too_heavy(one.pattern)
} else := sprintf("%s is not compared with %s: the patterns of the routes for this host are too many", [one.part, shorten(one.pattern)]) if {
	uncompared
} else := sprintf("%s does not match %s", [one.says, one.pattern]) if {
	not matches_whole(one.pattern, one.text)
}

# Routes whose patterns, together with those of the others, are too many to compile.
_not_compared(entry, type) := overweight_routes({route_key: found |
	some route_key in routes_of_host(entry, type)
	found := {one.pattern |
		some rule in lookup.get(route_key).spec.rules
		some match in matches(rule)
		some one in patterns(type, match)
	}
	count(found) > 0
})

_common(one, other) := count([index |
	some index in numbers.range(0, min([count(one), count(other)]))
	startswith(one, substring(other, 0, index))
])
