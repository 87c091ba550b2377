package bridge.effective

import data.bridge.kinds

# METADATA
# description: |
#   What the fold does with a stack (`{policy, target}`, the established ones first), in its order. Where a kind merges
#   as GEP-713 says it is the policies' keys alone, from the most specific upward. Else each is
#   `{policy, within, across}`: `within` how the policy is merged with those of its level that are merged already (it is
#   the established one; null where it is the first of them), `across` how the whole level then meets what is merged
#   already, `{strategy, upward}` (upward: the level is the established side); null where the level is not whole yet.
fold_ops(policy_kind, attached) := array.reverse([entry.policy | some entry in attached]) if {
	plain(policy_kind)
} else := level_ops(policy_kind, attached)

# METADATA
# description: |
#   What `fold_ops` does, by level, whatever the kind. Its strategyFrom and mergesWith say in which direction and how far
#   (semantics F4).
level_ops(policy_kind, attached) := both_ops(policy_kind, _folded_sides(policy_kind, _sides(policy_kind, attached))) if {
	both(policy_kind)
} else := [op |
	sides := _in_fold_order(policy_kind, _folded_sides(policy_kind, _sides(policy_kind, attached)))
	some index, side in sides
	across := _across(policy_kind, side, _before(sides, index))
	some op in _side_ops(side, across)
]

# METADATA
# description: |
#   A policy kind merges every policy of a stack from the most specific upward, each pair by the established one's
#   strategy, by RFC 7386 alone (GEP-713; semantics F1, F2).
plain(policy_kind) := traits(policy_kind).plain

made_plain(policy_kind) if {
	kind := kinds.get(policy_kind)
	[kind.strategyFrom, kind.mergesWith, kind.fold, kind.wrappers] == ["Established", "All", "BottomUp", "One"]
	not _by_level(policy_kind)
	not kind.rules
	not kind.strategyRules
	not kind.custom
} else := false

# The sides that meet, the established ones first; each a list of policies, the older first. Under OldestWins a level is
# one side (semantics F5), and so are the disjoint specs of one target under ConflictOnOverlap where nothing else unites
# them (semantics C2).
_sides(policy_kind, attached) := [[entry.policy] | some entry in attached] if not _by_level(policy_kind)

_sides(policy_kind, attached) := [policies |
	starts := [index | some index, entry in attached; _begins_a_level(attached, index, entry)]
	some number, start in starts
	end := array.concat(starts, [count(attached)])[number + 1]
	policies := [entry.policy | some entry in array.slice(attached, start, end)]
] if {
	_by_level(policy_kind)
}

_begins_a_level(attached, index, entry) if attached[index - 1].target != entry.target

# The first of a level; a Namespace can stand at two levels of a path, one directly after the other (semantics P4).
_begins_a_level(attached, _, entry) if {
	entry.policy == [other.policy | some other in attached; other.target == entry.target][0]
}

_by_level(policy_kind) if {
	kinds.get(policy_kind).sameLevel == "OldestWins"
} else if {
	kinds.direct(policy_kind)
	kinds.get(policy_kind).sameLevel == "ConflictOnOverlap"
} else if {
	# A consumer's policy and a producer's do not conflict, and meet where both count (semantics P6).
	kinds.direct(policy_kind)
	kinds.for_consumers(policy_kind)
} else := false

# The sides that are merged; higher ones are overridden (semantics F4, mergesWith).
_folded_sides(policy_kind, sides) := sides if {
	kinds.get(policy_kind).mergesWith == "All"
} else := array.slice(sides, max([0, count(sides) - 2]), count(sides))

_in_fold_order(policy_kind, sides) := array.reverse(sides) if _upward(policy_kind)

_in_fold_order(policy_kind, sides) := sides if not _upward(policy_kind)

# The fold runs from the bottom up (semantics F2), not from the top (F4, strategyFrom; F2, Stack).
_upward(policy_kind) if {
	kinds.get(policy_kind).strategyFrom == "Established"
	kinds.get(policy_kind).fold == "BottomUp"
}

_before(sides, index) := [side | some side in array.slice(sides, max([0, index - 1]), index)]

# How a side meets what is merged already, by the strategy of the oldest policy of the side that has the say: the side
# itself, which is the established one going up and the challenger going down; under Stack the side before it, whose
# strategy what is merged carries (GEP-713, "Abstract process for calculating effective policies").
_across(policy_kind, side, _) := object.union(how(side[0]), {"upward": true}) if _upward(policy_kind)

_across(policy_kind, side, _) := object.union(how(side[0]), {"upward": false}) if {
	kinds.get(policy_kind).strategyFrom == "Challenger"
}

_across(policy_kind, side, before) := object.union(how(decisive[0]), {"upward": false}) if {
	kinds.get(policy_kind).fold == "Stack"
	decisive := array.concat(before, [side])[0]
}

# The younger ones of a level first, each older one merged onto them.
_side_ops(side, across) := [op |
	some index, policy in array.reverse(side)
	op := {
		"policy": policy,
		"within": _within(policy, index),
		"across": [across | index == count(side) - 1],
	}
]

_within(_, 0) := []

_within(policy, index) := [object.union(how(policy), {"strategy": in_favour_of_the_older(policy)})] if {
	index > 0
}
