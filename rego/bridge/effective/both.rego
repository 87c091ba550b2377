package bridge.effective

import data.bridge.kinds
import data.bridge.merge

# METADATA
# description: |
#   The historic form (GEP-713, first version, "Hierarchy"; semantics F6, wrappers: Both): every wrapper that a policy has
#   counts in its direction, and a bare spec is a default. So a policy has up to two parts, `override` and `default`, and
#   by field A override > B override > C override > C default > B default > A default.
both(policy_kind) if {
	kinds.get(policy_kind).wrappers == "Both"
} else := false

# METADATA
# description: The places of a policy's parts, `override` and `default`, by part.
parts(policy_key) := {part: places[0] |
	some part, places in _by_part(policy_key)
}

_by_part(policy_key) := {part: places |
	some part in ["override", "default"]
	places := [place | some place in _present(policy_key); _part_of(place) == part]
	count(places) > 0
}

_part_of(place) := "override" if {
	endswith(place.strategy, "Overrides")
} else := "default"

# The places where a policy has something; a bare spec only where it has no wrapper.
_present(policy_key) := [place |
	some place in _filled(policy_key)
	not place.segments in {other.holder.segments | some other in _filled(policy_key)}
]

_filled(policy_key) := [place |
	some place in kinds.of_policy(policy_key).places
	_at(policy_key, place.segments) != null
]

# METADATA
# description: |
#   `proper` of a policy that may have both parts: its spec is its default patched by its override, and its leaves are
#   those of that, so that a pointer that both set is one leaf. It survives where the policy is its origin, whichever part.
both_proper(policy_key) := {"error": "Policy has no spec"} if {
	count(_filled(policy_key)) == 0
} else := {"error": sprintf("%s is no object", [place.path])} if {
	place := [place | some place in _present(policy_key); not is_object(_at(policy_key, place.segments))][0]
} else := {"error": message} if {
	[first, second] := [sort({place.path | some place in places}) | some places in _by_part(policy_key); count(places) > 1][0]
	message := sprintf("%s and %s say the same: a policy has one of them", [first, second])
} else := {"error": message} if {
	[place, beside] := [[place, beside] |
		some place in _present(policy_key)
		beside := fields_beside(policy_key, place)
		count(beside) > 0
	][0]
	message := sprintf("Fields beside %s: %s. A policy has its wrappers and nothing beside them", [place.path, concat(", ", sort(beside))])
} else := {
	"spec": merge.listed(side).spec,
	"strategy": _strongest(policy_key),
	"pointers": object.keys(side.origins),
} if {
	side := both_side(policy_key)
}

_strongest(policy_key) := "PatchOverrides" if {
	parts(policy_key).override
} else := "PatchDefaults"

# METADATA
# description: A policy's default patched by its override, with the parts as origins (see `part_side`).
both_side(policy_key) := merge.combined(
	{"strategy": "PatchOverrides", "rules": made_merge_rules(policy_key)},
	part_side(policy_key, "override"),
	part_side(policy_key, "default"),
) if {
	count(parts(policy_key)) == 2
} else := part_side(policy_key, [part | some part, _ in parts(policy_key)][0])

# METADATA
# description: |
#   A part as a side of a step. Its origin is `<policy> <part>` until the fold ends, so that what both parts append stays.
part_side(policy_key, part) := merge.keyed(spec, {"": sprintf("%s %s", [policy_key, part])}, made_merge_rules(policy_key)) if {
	place := parts(policy_key)[part]
	spec := json.remove(object.remove(_at(policy_key, place.segments), place.drop), place.inner)
}

# METADATA
# description: A side with policies as origins in place of their parts.
without_parts(side) := object.union(object.remove(side, ["origins"]), {"origins": {pointer: _policies_of(origin) |
	some pointer, origin in side.origins
}})

_policies_of(origin) := split(origin, " ")[0]

# METADATA
# description: |
#   The operations of a fold of both parts, the weakest first: the defaults from the top down, then the overrides from the
#   bottom up. A level is one side of each, in which the oldest wins.
both_ops(policy_kind, sides) := array.concat(
	_part_ops("default", sides, {"strategy": "PatchDefaults", "rules": rules, "upward": false}),
	_part_ops("override", array.reverse(sides), {"strategy": "PatchOverrides", "rules": rules, "upward": true}),
) if {
	rules := object.get(kinds.get(policy_kind), "rules", [])
}

_part_ops(part, sides, across) := [op |
	some side in sides
	having := [policy | some policy in side; parts(policy)[part]]
	some op in [object.union(op, {"part": part}) | some op in _side_ops(having, across)]
]

# METADATA
# description: |
#   The strategy by which one policy won over another; `first` is the established one of the two. Patch overrides where the
#   winner's override has a leaf that the other has too, unless that one's override stands above it.
both_deciding(loser, winner, first) := "PatchOverrides" if {
	shared := object.keys(part_side(winner, "override").origins) & made_proper(loser).pointers
	count(shared - {pointer | first == loser; some pointer, _ in part_side(loser, "override").origins}) > 0
} else := "PatchDefaults"
