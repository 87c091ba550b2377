package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup

# METADATA
# description: |
#   What the effective policies at a rule depend on: those with the same `determinants` have the same entries of `policies_of`, for
#   each kind and the source "", but for the route and the rule at the end of their paths (see `path_of_alike`). Undefined for
#   other nodes, and for a rule or a route that policies name, or whose own fields count.
determinants(node) := [known.type, known.namespace, hierarchy.parents(route_key)] if {
	_may_be_alike
	[route_key, section] := split(node, "#")
	known := index.facts(route_key)
	section in known.sections
	known.parents != []
	not known.frontends
	attachment.policies_targeting(route_key) == set()
	not _has_shadowing_field(node)
	not _is_user(route_key)
}

# METADATA
# description: A path to a rule, for another rule that is alike.
path_of_alike(path, node) := array.concat(array.slice(path, 0, count(path) - 2), [keys.whole(node), node])

# What the user may not read, and links of extension modules, are not part of `determinants`.
_may_be_alike if {
	not index.has_extension_links
	not lookup.reads_in_part
}

# A rule has a field, or a filter, that goes before fields of policies (see `as_served`).
_has_shadowing_field(node) if {
	object.filter(hierarchy.rule_of(node), {path[0] | some path in _shadowing_fields}) != {}
	fields := fields_with_filters(node)
	some path in _shadowing_fields
	object.get(fields, path, null) != null
}

_shadowing_fields := {_field_or_filter(leaves.segments(pointer)) |
	some kind in kinds.in_use
	some field in kinds.get(kind).shadowedBy
	some pointer in array.flatten([field.rule, object.get(field, "unless", []), [source | some source in field.values]])
}

_field_or_filter(segments) := array.slice(segments, 0, 2) if {
	segments[0] == "filters"
} else := [segments[0]]

# A route uses a feature that a kind does not model.
_is_user(route_key) if {
	some feature in _features_of_routes
	use_of(feature, route_key)
}

_features_of_routes := {feature | some kind in kinds.in_use; some feature in features_of_paths(kind)}
