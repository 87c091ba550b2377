package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge

# METADATA
# description: |
#   Who overrides a policy of a stack, in the words of messages, with what decided: GEP-713's name of the strategy that
#   merged the two (semantics S1).
deciders(policy_kind, attached, placed) := [sprintf("%s%s", [keys.short(winner), reason]) |
	merged := _folded_part(policy_kind, attached)
	some winner in placed.overriddenBy
	reason := _reason(policy_kind, merged, placed.policy, winner)
]

# The end of a stack that is merged.
_folded_part(policy_kind, attached) := attached if {
	kinds.get(policy_kind).mergesWith == "All"
} else := array.slice(attached, count(attached) - number, count(attached)) if {
	number := sum([count(side) | some side in _folded_sides(policy_kind, _sides(policy_kind, attached))])
}

# Under Closest a policy that is not merged at all loses to those that are (semantics F4).
_reason(policy_kind, attached, loser, winner) := ", which is closer" if {
	kinds.get(policy_kind).mergesWith == "Closest"
	not loser in {entry.policy | some entry in attached}
} else := sprintf(" (%s)", [merge.strategies[both_deciding(loser, winner, _by_standing(attached, {loser, winner})[0])]]) if {
	both(policy_kind)
} else := _by_strategy(_deciding(policy_kind, attached, {loser, winner}))

# Under None only one that names the section wins over another (semantics C2); that says more than its name.
_by_strategy("None") := ", which names the section"

_by_strategy(name) := sprintf(" (%s)", [merge.strategies[name]]) if name != "None"

# The strategy by which two policies of a stack were merged. The pair's established one has the say, or under
# strategyFrom the challenger, or under Stack the side just above the challenger, whose strategy what is merged carries.
_deciding(policy_kind, attached, pair) := strategy_of(established) if {
	# Where every policy is a side of its own, the one of the two that stands higher.
	plain(policy_kind)
	places := _first_places(attached)
	established := [policy | some [_, policy] in sort([[places[policy], policy] | some policy in pair])][0]
} else := in_favour_of_the_older(upper) if {
	_by_level(policy_kind)
	[upper, lower] := _by_standing(attached, pair)
	some side in _sides(policy_kind, attached)
	upper in side
	lower in side
} else := strategy_of(_oldest_beside(policy_kind, attached, upper)) if {
	_upward(policy_kind)
	upper := _by_standing(attached, pair)[0]
} else := strategy_of(sides[lowest][0]) if {
	kinds.get(policy_kind).strategyFrom == "Challenger"
	sides := _sides(policy_kind, attached)
	lowest := _lowest_of(sides, pair)
} else := strategy_of(sides[lowest - 1][0]) if {
	sides := _sides(policy_kind, attached)
	lowest := _lowest_of(sides, pair)
}

# Going down, the last place of a policy that stands at two counts (semantics P4).
_lowest_of(sides, pair) := max([place | some place, side in sides; some policy in side; policy in pair])

_by_standing(attached, pair) := [policy |
	some index, entry in attached
	policy := entry.policy
	policy in pair
	not policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]

_oldest_beside(policy_kind, attached, policy) := [side |
	some side in _sides(policy_kind, attached)
	policy in side
][0][0]

# Where each policy of a stack stands first. Made once a stack.
_first_places(attached) := {entry.policy: index | some index, entry in attached} if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := {policy: index |
	some policy in {entry.policy | some entry in attached}
	index := min([index | some index, entry in attached; entry.policy == policy])
}
