package bridge.policy

import data.bridge.kinds
import data.bridge.merge

# METADATA
# description: |
#   The spec proper of a policy whose wrappers all count (`wrappers: Both`; semantics F6; GEP-713, first version,
#   "Hierarchy"), `{spec, strategy, rules, origins, parts}`: `parts` has the spec of its `override` and its `default`,
#   where a bare spec is a default; `spec` is its default patched by its override, so a pointer that both set is one
#   leaf.
spec_proper_of_wrappers(type, obj) := {
	"spec": merge.plain_side(whole).spec,
	"strategy": _strongest(parts),
	"rules": merge_rules,
	"origins": whole.origins,
	"parts": parts,
} if {
	merge_rules := object.get(kinds.get(type), "rules", [])
	parts := {part: spec_at(places[0], obj) | some part, places in _places_by_part(type, obj)}
	whole := _whole(object_key(obj), parts, merge_rules)
}

_strongest(parts) := "PatchOverrides" if {
	parts.override
} else := "PatchDefaults"

_whole(key, parts, merge_rules) := merge.patch_sides_by_rules(found, seams, {part_origin(key, "override"): 0, part_origin(key, "default"): 1}) if {
	found := [merge.keyed_side(parts[part], {"": part_origin(key, part)}, merge_rules) | some part in ["default", "override"]]
	seams := [merge_rules | count(found) == 2]
}

# METADATA
# description: |
#   The origin of a leaf of one part of a policy during the merge, which keeps the items that both parts append.
part_origin(key, part) := sprintf("%s %s", [key, part])

# METADATA
# description: The problem of a policy's wrappers if all of them count; undefined if they are valid.
wrappers_problem(type, obj) := "Policy has no spec" if {
	count(_filled(type, obj)) == 0
} else := sprintf("%s is not an object", [found.path]) if {
	found := [found | some found in _present(type, obj); not is_object(value_at(obj, found.segments))][0]
} else := message if {
	[first, second] := [sort({found.path | some found in places}) | some places in _places_by_part(type, obj); count(places) > 1][0]
	message := sprintf("%s and %s are equivalent: a policy has only one of them", [first, second])
} else := message if {
	[found, beside] := [[found, beside] |
		some found in _present(type, obj)
		beside := fields_beside(obj, found)
		count(beside) > 0
	][0]
	message := sprintf("Fields beside %s: %s. A policy has its wrappers and nothing beside them", [found.path, concat(", ", sort(beside))])
}

_places_by_part(type, obj) := {part: places |
	some part in ["override", "default"]
	places := [found | some found in _present(type, obj); _part_of(found) == part]
	count(places) > 0
}

_part_of(found) := "override" if {
	endswith(found.strategy, "Overrides")
} else := "default"

# The places where a policy has a value; a bare spec only if it has no wrapper.
_present(type, obj) := [found |
	some found in _filled(type, obj)
	not found.segments in {other.holder.segments | some other in _filled(type, obj)}
]

_filled(type, obj) := [found |
	some found in kinds.get(type).places
	value_at(obj, found.segments) != null
]
