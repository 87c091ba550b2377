package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The outcome of one policy of a stack at its path, `{outcome, overriddenBy}`: all its leaves survive: Programmed;
#   some: PartiallyProgrammed; none: Overridden (semantics O1 to O3).
outcome(attached, policy) := {"outcome": "Programmed", "overriddenBy": []} if {
	# Most policies keep all leaves.
	object.subset(merged_stack(attached).leaves, _leaves_of(attached, policy))
} else := {"outcome": "Programmed", "overriddenBy": []} if {
	kinds.is_additive(kind_of(attached))
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[policy in owners], "overriddenBy": sort(_overriding(attached, policy, owners, own - object.keys(leaves)))} if {
	own := object.keys(_leaves_of(attached, policy))
	leaves := object.filter(merged_stack(attached).leaves, own)
	owners := {owner | some origin in leaves; some owner in merge.as_list(origin)}
}

# The leaves of a policy by the rules of the stack.
_leaves_of(attached, policy) := policies.facts(policy).origins if {
	kinds.traits(kind_of(attached)).joins != "parents"
} else := merge.keyed_side(policies.facts(policy).spec, policy, rules_of(attached)).origins

# The policies that override a policy (semantics O3): those that can win, of the `owners` of the leaves at its pointers
# and, for each of its `missing` pointers, of the leaves above or below; and those that made a leaf together with it (F9).
# If a missing pointer has none, the policies that excluded this one as a whole, or else all contributors that can win,
# took that leaf away.
_overriding(attached, policy, owners, missing) := (direct | {winner | some near in nearby; some winner in near}) | rest if {
	direct := _winners(attached, policy, owners) | _joint_owners(attached, policy)
	nearby := [_winners(attached, policy, _owners_near(merged_stack(attached).leaves, pointer)) | some pointer in missing]
	rest := _excluding(attached, policy, set() in nearby, count(direct) + count(nearby))
}

_excluding(_, _, false, found) := set() if found > 0

_excluding(attached, policy, true, _) := _excluding_policies(attached, policy)

_excluding(attached, policy, false, 0) := _excluding_policies(attached, policy)

_excluding_policies(attached, policy) := winners if {
	winners := {winner |
		some element in precedence(kind_of(attached), joins(attached))
		some winner in _owners_of_element(element)
		wins_atomically(attached, winner, policy)
	}
	count(winners) > 0
} else := _winners(attached, policy, {owner | some origin in merged_stack(attached).leaves; some owner in merge.as_list(origin)})

_winners(attached, policy, owners) := {winner | some winner in owners; winning_strategy(attached, winner, policy)}

_owners_near(leaves, pointer) := {owner |
	segments := split(pointer, "/")
	some end in numbers.range(1, count(segments) - 1)
	some owner in merge.as_list(leaves[concat("/", array.slice(segments, 0, end))])
} | {owner |
	strings.any_prefix_match(object.keys(leaves), concat("", [pointer, "/"]))
	some place, origin in leaves
	startswith(place, concat("", [pointer, "/"]))
	some owner in merge.as_list(origin)
}

_joint_owners(attached, _) := set() if not kinds.get(kind_of(attached)).custom

_joint_owners(attached, policy) := {owner |
	some origin in merged_stack(attached).leaves
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
} if {
	kinds.get(kind_of(attached)).custom
}

_owners_of_element(element) := {element} if is_string(element)

_owners_of_element(element) := {owner | some origin in element.origins; some owner in merge.as_list(origin)} if is_object(element)

# METADATA
# description: |
#   The strategy by which one policy of a stack can win over another (semantics O3): the established policy of a pair
#   can win if the strategy that joins the two is an override, the challenger if it is a default, and both if it is
#   Custom. `Parents` if the other policy is at none of the kind's `parentLevels`. Undefined if the one cannot win over
#   the other.
winning_strategy(attached, winner, loser) := strategy if {
	# Evaluates a fifth fewer expressions than the general form.
	places := _plain_places(attached)
	winner != loser
	upper := min([places[winner], places[loser]])
	strategy := policies.strategy_of(attached[upper].policy)
	strings.any_suffix_match(strategy, {true: ["Overrides"], false: ["Defaults", "None"]}[upper == places[winner]])
} else := _general_winning_strategy(attached, winner, loser) if {
	not _plain_places(attached)
}

# The place of each policy, for a kind that joins with GEP-713's defaults and lists each policy once.
_plain_places(attached) := {entry.policy: index | some index, entry in attached} if {
	kinds.traits(kind_of(attached)).plain
	count({entry.policy | some entry in attached}) == count(attached)
}

_general_winning_strategy(attached, winner, loser) := "Parents" if {
	not _places_in(attached)[loser]
	_places_in(attached)[winner]
} else := _winning_strategies(attached, winner, loser)[0]

# METADATA
# description: One policy of a stack can exclude another one as a whole, even if it sets nothing (semantics O3).
wins_atomically(attached, winner, loser) if {
	some strategy in _winning_strategies(attached, winner, loser)
	startswith(strategy, "Atomic")
}

# The strategies of the pairs of the two policies, at each of their places: first those in which the winner is
# established.
_winning_strategies(attached, winner, loser) := array.concat(
	[strategy |
		some upper in _places_in(attached)[winner]
		some lower in _places_in(attached)[loser]
		strategy := _strategy_of_pair(attached, upper, lower)
		strategy in {"AtomicOverrides", "PatchOverrides", "Custom"}
	],
	[strategy |
		some lower in _places_in(attached)[winner]
		some upper in _places_in(attached)[loser]
		strategy := _strategy_of_pair(attached, upper, lower)
		strategy in {"AtomicDefaults", "PatchDefaults", "Custom", "None"}
	],
) if {
	winner != loser
}

# The places of each policy among the sides, `[side, place within]`, from the top.
_places_in(attached) := {policy: [[number, within]] | some number, side in found; some within, policy in side} if {
	found := sides(attached)
	count({policy | some side in found; some policy in side}) == sum([count(side) | some side in found])
} else := {policy: [[number, within] | some number, side in found; some within, other in side; other == policy] |
	found := sides(attached)
	some policy in {policy | some side in found; some policy in side}
}

# Undefined if the first place is not above the second.
_strategy_of_pair(attached, upper, lower) := joined[(count(joined) - 1) - upper[0]].strategy if {
	upper[0] < lower[0]
	joined := joins(attached)
} else := strategy_within_level(sides(attached)[upper[0]][upper[1]]) if {
	upper[0] == lower[0]
	upper[1] < lower[1]
}

# METADATA
# description: |
#   The policies that override a policy at its path, as texts for messages, with the reason: GEP-713's name of the
#   strategy that merged the two (semantics S1).
deciders(attached, policy, overridden_by) := [concat("", [keys.short(winner), _reason(winning_strategy(attached, winner, policy))]) |
	some winner in overridden_by
]

_reason("Parents") := ", which is closest or merges with that"

# Under None only a policy that names the section wins over another (semantics C2); this reason is more helpful than the
# strategy's name.
_reason("None") := ", which names the section"

_reason(strategy) := sprintf(" (%s)", [merge.strategies[strategy]]) if not strategy in {"Parents", "None"}
