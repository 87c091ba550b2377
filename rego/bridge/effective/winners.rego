package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The strategy by which one policy of a stack can win over another (semantics O3). The established policy of a pair
#   can win if the strategy that joins the two is an override, the challenger if it is a default, and both if it is
#   Custom. `Closest` if the other policy is too far up to be joined, `Parents` if it is at none of the kind's
#   `parentLevels`. Undefined if the one cannot win over the other.
winning_strategy(attached, winner, loser) := strategy if {
	winner != loser
	places := _plain_places(attached)
	upper := min([places[winner], places[loser]])
	strategy := policies.strategy_of(attached[upper].policy)
	strings.any_suffix_match(strategy, {true: ["Overrides"], false: ["Defaults", "None"]}[upper == places[winner]])
} else := _general_winning_strategy(attached, winner, loser) if {
	winner != loser
	not _plain_places(attached)
}

# The place of each policy, for a kind that joins with GEP-713's defaults and lists each policy once.
_plain_places(attached) := {entry.policy: index | some index, entry in attached} if {
	kinds.traits(kind_of(attached)).plain
	count({entry.policy | some entry in attached}) == count(attached)
}

_general_winning_strategy(attached, winner, loser) := _closeness(kind_of(attached)) if {
	# Under Closest an omitted policy loses to those that are joined (semantics F4).
	kinds.get(kind_of(attached)).mergesWith == "Closest"
	not loser in _joined_policies(attached)
	winner in _joined_policies(attached)
} else := _strategy_of_parts(attached, winner, loser) if {
	kinds.merges_parts(kind_of(attached))
} else := _strategy_of_policies(attached, winner, loser) if {
	not kinds.merges_parts(kind_of(attached))
}

_closeness(policy_kind) := "Closest" if {
	not kinds.get(policy_kind).parentLevels
} else := "Parents"

_strategy_of_policies(attached, winner, loser) := _winning_strategies(attached, winner, loser)[0]

# The strategies of the pairs of the two policies, at each of their places: first those in which the winner is
# established.
_winning_strategies(attached, winner, loser) := array.concat(
	[strategy |
		some upper in _places(attached)[winner]
		some lower in _places(attached)[loser]
		upper < lower
		strategy := _strategy_of_pair(attached, upper, lower)
		strategy in {"AtomicOverrides", "PatchOverrides", "Custom"}
	],
	[strategy |
		some lower in _places(attached)[winner]
		some upper in _places(attached)[loser]
		upper < lower
		strategy := _strategy_of_pair(attached, upper, lower)
		strategy in {"AtomicDefaults", "PatchDefaults", "Custom", "None"}
	],
)

# METADATA
# description: One policy of a stack can exclude another one as a whole, even if it sets nothing (semantics O3).
wins_atomically(attached, winner, loser) if {
	winner != loser
	some strategy in _winning_strategies(attached, winner, loser)
	startswith(strategy, "Atomic")
}

# The places of each policy among the joined sides, `[side, place within]`, from the top.
_places(attached) := {policy: [[number, within]] | some number, side_policies in found; some within, policy in side_policies} if {
	found := sides(kind_of(attached), attached)
	count(_joined_policies(attached)) == sum([count(side_policies) | some side_policies in found])
} else := {policy: [[number, within] | some number, side_policies in found; some within, other in side_policies; other == policy] |
	found := sides(kind_of(attached), attached)
	some policy in _joined_policies(attached)
}

# The established policy decides, under strategyFrom the challenger, under Stack the side directly above the challenger;
# for a side of several policies its oldest one.
_strategy_of_pair(attached, upper, lower) := strategy_within_level(found[upper[0]][upper[1]]) if {
	upper[0] == lower[0]
	found := sides(kind_of(attached), attached)
} else := policies.strategy_of(found[_deciding(kind_of(attached), upper[0], lower[0])][0]) if {
	found := sides(kind_of(attached), attached)
}

_deciding(policy_kind, upper, _) := upper if kinds.folds_upward(policy_kind)

_deciding(policy_kind, _, lower) := lower if kinds.get(policy_kind).strategyFrom == "Challenger"

_deciding(policy_kind, _, lower) := lower - 1 if kinds.get(policy_kind).fold == "Stack"

# With both wrappers a policy can win if one of its parts has a higher precedence than one of the other's; an override
# is named if it has a leaf that the other has too.
_strategy_of_parts(attached, winner, loser) := "PatchOverrides" if {
	override := policies.part_origin(winner, "override")
	some element in _parts_below(attached, override, loser)
	count(object.keys(side(element).origins) & object.keys(side(override).origins)) > 0
} else := [strategy |
	some [strategy, part] in [["PatchDefaults", "default"], ["PatchOverrides", "override"]]
	count(_parts_below(attached, policies.part_origin(winner, part), loser)) > 0
][0]

# The parts of a policy that have a lower precedence than an element of the order.
_parts_below(attached, element, policy) := [other |
	elements := order(joins(kind_of(attached), attached))
	some place, at_place in elements
	at_place == element
	some other in array.slice(elements, 0, place)
	startswith(other, concat("", [policy, " "]))
]

_joined_policies(attached) := {policy | some side_policies in sides(kind_of(attached), attached); some policy in side_policies}

# METADATA
# description: |
#   The policies that override a policy at its path, as texts for messages, with the reason: GEP-713's name of the
#   strategy that merged the two (semantics S1).
deciders(attached, policy, overridden_by) := [concat("", [keys.short(winner), _reason(winning_strategy(attached, winner, policy))]) |
	some winner in overridden_by
]

_reason("Closest") := ", which is closer"

_reason("Parents") := ", which is closest or merges with that"

# Under None only a policy that names the section wins over another (semantics C2); this reason is more helpful than the
# strategy's name.
_reason("None") := ", which names the section"

_reason(strategy) := sprintf(" (%s)", [merge.strategies[strategy]]) if not strategy in {"Closest", "Parents", "None"}
