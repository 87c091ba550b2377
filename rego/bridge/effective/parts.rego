package bridge.effective

import data.bridge.kinds
import data.bridge.policy as policies

# METADATA
# description: |
#   The joins if every wrapper of a policy counts in its direction (`wrappers: Both`; GEP-713, first version,
#   "Hierarchy"; semantics F6): a policy has up to two parts, `override` and `default`. The lowest precedence first: the
#   defaults from the top down, then the overrides from the bottom up; within a level the younger first.
joins_of_parts(found, rules) := array.concat(
	[join | some side_policies in found; some join in _part_joins("default", side_policies, rules, false)],
	[join | some side_policies in array.reverse(found); some join in _part_joins("override", side_policies, rules, true)],
)

_part_joins(part, side_policies, rules, is_upward) := [{
	"policies": [policy],
	"elements": [policies.part_origin(policy, part)],
	"seams": [],
	"place": "Above",
	"strategy": {"override": "PatchOverrides", "default": "PatchDefaults"}[part],
	"rules": rules,
	"upward": is_upward,
	"level": side_policies,
} |
	some policy in array.reverse(side_policies)
	policies.facts(policy).parts[part]
]

# METADATA
# description: |
#   The positions of policies in the order of appended items, by the origin of items during the merge (semantics F8): as
#   on the path, each at its first place. Overrides precede defaults. Empty for a kind without merge rules.
ranks(policy_kind, attached) := {} if {
	not _has_rules(policy_kind)
} else := {policies.part_origin(policy, part): rank |
	some policy, index in first_places(attached)
	some part, offset in {"override": 0, "default": count(attached)}
	rank := index + offset
} if {
	kinds.merges_parts(policy_kind)
} else := first_places(attached)

_has_rules(policy_kind) if kinds.get(policy_kind).rules

_has_rules(policy_kind) if kinds.get(policy_kind).strategyRules

_has_rules(policy_kind) if kinds.merges_parts(policy_kind)

# METADATA
# description: The first place of each policy in a stack, from the top.
first_places(attached) := {entry.policy: index | some index, entry in attached} if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := {policy: min([index | some index, entry in attached; entry.policy == policy]) |
	some policy in {entry.policy | some entry in attached}
}

# METADATA
# description: A side with policies as origins instead of their parts.
without_parts(whole) := object.union(object.remove(whole, ["origins"]), {"origins": {pointer: split(origin, " ")[0] |
	some pointer, origin in whole.origins
}})
