package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

# Routes of the host are attached, and none of their rules matches.
_no_rule(entry) := {
	"reached": "Route",
	"reason": "NoMatchingRule",
	"message": sprintf("No rule of the routes for %s matches", [asked.host]),
	"candidates": array.slice([told | some [_, told] in sort(misses)], 0, _told),
} if {
	misses := {[[count(parts), rank], told] |
		some type in _types
		some route_key in hosted(entry, type)
		_is_attached(entry, route_key)
		some index, rule in lookup.get(route_key).spec.rules
		[parts, rank] := _best_miss(type, rule)
		node := keys.section(route_key, hierarchy.section_names(route_key)[index])
		told := {"node": node, "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in parts])}
	}
	count(misses) > 0
}

# Of a rule's matches the one that misses least; a path that is the same for longer is nearer.
_best_miss(type, rule) := [sort(parts), rank] if {
	[_, rank, parts] := sort({[count(parts), rank, parts] |
		some match in _matches(rule)
		parts := _misses(type, match)
		rank := 0 - _common(asked.path, path_of(match).value)
	})[0]
}

_misses("gateway.networking.k8s.io/HTTPRoute", match) := http_misses(match)

_misses("gateway.networking.k8s.io/GRPCRoute", match) := grpc_misses(match)

_common(one, other) := count([index |
	some index in numbers.range(0, min([count(one), count(other)]))
	startswith(one, substring(other, 0, index))
])
