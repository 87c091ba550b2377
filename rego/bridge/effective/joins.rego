package bridge.effective

import data.bridge.kinds
import data.bridge.policy as policies

# METADATA
# description: |
#   How a kind joins the policies of a stack (`{policy, target}`, the established ones first) into an order of precedence, see
#   `order`. Each join also has `policies`, those of its side, and how it merges with what is joined already: `strategy`, `rules`,
#   `upward` (the side is the established one), and for Custom `custom`. A kind as GEP-713 has it starts with the most specific
#   policy and goes up, by the strategy of the established one (semantics F1, F2).
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
	kinds.both_wrappers(policy_kind)
} else := joins_of_sides(policy_kind, sides(policy_kind, attached), ranks(policy_kind, attached))

# METADATA
# description: The joins of sides, by level where the oldest of a level wins, in the direction that the kind has (semantics F4).
joins_of_sides(policy_kind, found, ranked) := [join |
	in_order := _in_join_order(policy_kind, found)
	some index, policies_of_side in in_order
	how := _how(policy_kind, in_order, index)
	level := level_order(policies_of_side, ranked)
	join := object.union_n([how, level, {
		"policies": policies_of_side,
		"place": _place(how),
	}])
]

_in_join_order(policy_kind, found) := array.reverse(found) if kinds.upward(policy_kind)

_in_join_order(policy_kind, found) := found if not kinds.upward(policy_kind)

_place(how) := place_upward[how.strategy] if {
	how.upward
} else := place_downward[how.strategy]

# By the strategy of the oldest policy of the side that decides: the side itself, which is the established one going up and
# the challenger going down; under Stack the side directly above it (GEP-713, "Abstract process for calculating effective
# policies").
_how(policy_kind, in_order, index) := how(in_order[index][0], true) if {
	kinds.upward(policy_kind)
} else := how(in_order[index][0], false) if {
	kinds.get(policy_kind).strategyFrom == "Challenger"
} else := how(in_order[max([0, index - 1])][0], false)

# METADATA
# description: What a policy's pairs are merged by where its strategy decides.
how(policy, is_upward) := object.union(
	{"strategy": known.strategy, "rules": known.rules, "upward": is_upward},
	{"custom": known.custom | known.custom},
) if {
	known := policies.facts(policy)
}

# METADATA
# description: |
#   The order within one side, `{elements, seams}`, from the youngest policy up, each older one above the younger or in place of
#   them (semantics F5, OldestWins).
level_order([policy], _) := {"elements": [policy], "seams": []}

level_order(level, ranked) := joined(joins_of_level(level), ranked) if count(level) > 1

# METADATA
# description: The joins within one level, the youngest policy first.
joins_of_level(level) := [join |
	some policy in array.reverse(level)
	way := object.union(how(policy, true), {"strategy": strategy_within_level(policy)})
	join := object.union(way, {"policies": [policy], "elements": [policy], "seams": [], "place": place_upward[way.strategy]})
]
