package bridge.effective

import data.bridge.kinds
import data.bridge.policy as policies

# METADATA
# description: |
#   How a kind joins the policies of a stack (`{policy, target}`, the established ones first) into an order of
#   precedence, see `order`. Each join also has `policies`, those of its side, and how it merges with the previous
#   joins: `strategy`, `rules`, `upward` (the side is the established one), and for Custom `custom`. A kind with
#   GEP-713's defaults starts with the most specific policy and goes up, by the strategy of the established one
#   (semantics F1, F2).
joins(policy_kind, attached) := [{
	"elements": [policy],
	"place": place_upward[policies.strategy_of(policy)],
	"seams": [],
	"rules": [],
} |
	some index in numbers.range(count(attached) - 1, 0)
	policy := attached[index].policy
] if {
	kinds.traits(policy_kind).plain
} else := joins_of_parts(sides(policy_kind, attached), object.get(kinds.get(policy_kind), "rules", [])) if {
	kinds.merges_parts(policy_kind)
} else := joins_of_sides(policy_kind, sides(policy_kind, attached), ranks(policy_kind, attached))

# METADATA
# description: |
#   The joins of sides, by level if the oldest policy of a level wins, in the direction of the kind (semantics F4).
joins_of_sides(policy_kind, sides_to_join, item_ranks) := [join |
	in_order := _in_join_order(policy_kind, sides_to_join)
	some index, policies_of_side in in_order
	join_method := _method_of(policy_kind, in_order, index)
	level := level_order(policies_of_side, item_ranks)
	join := object.union_n([join_method, level, {
		"policies": policies_of_side,
		"place": _place(join_method),
	}])
]

_in_join_order(policy_kind, sides_to_join) := array.reverse(sides_to_join) if kinds.folds_upward(policy_kind)

_in_join_order(policy_kind, sides_to_join) := sides_to_join if not kinds.folds_upward(policy_kind)

_place(join_method) := place_upward[join_method.strategy] if {
	join_method.upward
} else := place_downward[join_method.strategy]

# By the strategy of the oldest policy of the deciding side: the side itself, which is the established one going up and
# the challenger going down; under Stack the side directly above it (GEP-713, "Abstract process for calculating
# effective policies").
_method_of(policy_kind, in_order, index) := join_method(in_order[index][0], true) if {
	kinds.folds_upward(policy_kind)
} else := join_method(in_order[index][0], false) if {
	kinds.get(policy_kind).strategyFrom == "Challenger"
} else := join_method(in_order[max([0, index - 1])][0], false)

# METADATA
# description: The method by which a policy's strategy merges a pair.
join_method(policy, is_upward) := object.union(
	{"strategy": known.strategy, "rules": known.rules, "upward": is_upward},
	{"custom": known.custom | known.custom},
) if {
	known := policies.facts(policy)
}

# METADATA
# description: |
#   The order within one side, `{elements, seams}`, from the youngest policy up, each older one above the younger ones
#   or instead of them (semantics F5, OldestWins).
level_order([policy], _) := {"elements": [policy], "seams": []}

level_order(level, item_ranks) := precedence(joins_of_level(level), item_ranks) if count(level) > 1

# METADATA
# description: The joins within one level, the youngest policy first.
joins_of_level(level) := [join |
	some policy in array.reverse(level)
	method := object.union(join_method(policy, true), {"strategy": strategy_within_level(policy)})
	join := object.union(method, {"policies": [policy], "elements": [policy], "seams": [], "place": place_upward[method.strategy]})
]
