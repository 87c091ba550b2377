package bridge.effective

import data.bridge.kinds
import data.bridge.lib.levels
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The sides of a stack that are joined, the established ones first; each is a list of policies, the older first: one
#   policy, or those of a level if the oldest of a level wins (semantics F5) or if the specs of one target are united
#   (C2). With `parentLevels`, these are the most specific policy and the closest one above it at one of these levels
#   (F4).
sides(attached) := [[entry.policy] | some entry in attached] if {
	kinds.traits(kind_of(attached)).joins == "policies"
} else := [[entry.policy | some entry in array.slice(attached, start, end)] |
	starts := [start | some start, entry in attached; _begins_a_level(attached, start, entry)]
	some number, start in starts
	end := array.concat(starts, [count(attached)])[number + 1]
] if {
	kinds.traits(kind_of(attached)).joins == "levels"
} else := array.concat(array.slice(parents, count(parents) - 1, count(parents)), [[attached[last].policy]]) if {
	last := count(attached) - 1
	parents := [[entry.policy] |
		some entry in array.slice(attached, 0, last)
		levels.of(entry.target) in kinds.get(kind_of(attached)).parentLevels
	]
}

_begins_a_level(attached, index, entry) if attached[index - 1].target != entry.target

# Wider policies are above narrower ones at one target (semantics T8).
_begins_a_level(attached, index, entry) if {
	policies.fact(attached[index - 1].policy, "breadth") != policies.fact(entry.policy, "breadth")
}

# The first policy of a level; a Namespace can be at two adjacent levels of a path (semantics P4).
_begins_a_level(attached, _, entry) if {
	entry.policy == [other.policy | some other in attached; other.target == entry.target][0]
}

# METADATA
# description: |
#   The joins of a stack, from the most specific side upward: `{policies, elements, strategy, place}`. `elements` are
#   the policies of the side in their own order of precedence, `place` their place in that order: `Below` or `Above` the
#   elements so far, `Alone` instead of them, or `Out` (semantics F1, F2).
joins(attached) := [{"policies": [policy], "elements": [policy], "strategy": strategy, "place": places_by_strategy[strategy]} |
	some index in numbers.range(count(attached) - 1, 0)
	policy := attached[index].policy
	strategy := policies.strategy_of(policy)
] if {
	kinds.traits(kind_of(attached)).joins == "policies"
} else := [{"policies": side, "elements": _elements(side), "strategy": strategy, "place": places_by_strategy[strategy]} |
	found := sides(attached)
	some number in numbers.range(count(found) - 1, 0)
	side := found[number]
	strategy := policies.strategy_of(_deciding(attached, side))
]

# The established policy of a pair; with `parentLevels` the challenger (semantics F4).
_deciding(attached, side) := side[0] if {
	kinds.traits(kind_of(attached)).joins != "parents"
} else := attached[count(attached) - 1].policy

# METADATA
# description: The place of a join by its strategy, see `joins`.
places_by_strategy := {
	"None": "Out",
	"AtomicDefaults": "Out",
	"AtomicOverrides": "Alone",
	"PatchDefaults": "Below",
	"PatchOverrides": "Above",
	"Custom": "Custom",
}

# The order within one side: each older policy above the younger ones or instead of them (semantics F5).
_elements([policy]) := [policy]

_elements(side) := precedence(policies.kind_of(side[0]), joins_of_level(side)) if count(side) > 1

# METADATA
# description: The joins within one side, the youngest policy first.
joins_of_level(side) := [{"policies": [policy], "elements": [policy], "strategy": strategy, "place": places_by_strategy[strategy]} |
	some policy in array.reverse(side)
	strategy := strategy_within_level(policy)
]

# METADATA
# description: |
#   The strategy that merges a policy with a younger one of its level if the oldest of a level wins: the granularity of
#   its own strategy, always in its favor (semantics F5). For a Direct kind, both disjoint specs stay (semantics C2);
#   otherwise the whole older one stays, over one that conflicts with it only for requests of its namespace (P6).
strategy_within_level(policy) := replace(policies.strategy_of(policy), "Defaults", "Overrides") if {
	not kinds.is_direct(policies.kind_of(policy))
} else := "PatchOverrides" if {
	kinds.of_policy(policy).sameLevel == "ConflictOnOverlap"
} else := "AtomicOverrides"

# METADATA
# description: |
#   The order of precedence of joins without Custom ones, lowest first (semantics F2). In closed form: the last join with
#   `Alone`, or the first one, together with the later ones with `Below`, the last one lowest, and those with `Above`,
#   the last one highest.
order(found) := [element | some join in array.flatten([below, found[base], above]); some element in join.elements] if {
	base := max(array.concat([0], [index | some index, join in found; join.place == "Alone"]))
	later := array.slice(found, base + 1, count(found))
	below := array.reverse([join | some join in later; join.place == "Below"])
	above := [join | some join in later; join.place == "Above"]
}

# METADATA
# description: |
#   The elements of joins in their order of precedence, the lowest first. An element is a policy or, where a Custom
#   strategy merged two sides, the merged side (semantics F9). `{error}` if that fails.
precedence(policy_kind, found) := [join.elements | some join in found; join.elements.error][0] if {
	true
} else := order(found) if {
	every join in found {
		join.place != "Custom"
	}
} else := _joined_512(policy_kind, found[0].elements, array.slice(found, 1, count(found)))

_join(_, elements, _) := elements if elements.error

_join(policy_kind, elements, join) := _custom_elements(merge.custom_merge(
	kinds.get(policy_kind).custom,
	policy_kind,
	_merged(join.elements),
	_merged(elements),
)) if {
	join.place == "Custom"
	not elements.error
}

_join(_, elements, join) := order([{"elements": elements, "place": "Alone"}, join]) if {
	join.place != "Custom"
	not elements.error
}

_custom_elements(merged) := merged if {
	merged.error
} else := [merged]

_merged(elements) := merge.patch_sides([_side(element, []) | some element in elements])

# METADATA
# description: Elements, the lowest precedence first, merged by the kind's rules into one side.
merged_elements(elements, rules) := merge.merge_sides([_side(element, rules) | some element in elements])

_side(element, _) := element if is_object(element)

_side(element, []) := {"spec": known.spec, "origins": known.origins} if {
	is_string(element)
	known := policies.facts(element)
}

_side(element, rules) := merge.keyed_side(policies.facts(element).spec, element, rules) if {
	rules != []
	is_string(element)
}

# METADATA
# description: |
#   The rules by which a stack merges (semantics F7, F8): the kind's, or with `parentLevels` those of the strategy that
#   the most specific policy selects.
rules_of(attached) := policies.facts(attached[count(attached) - 1].policy).rules

_joined_at(_, elements, found, index) := elements if index >= count(found)

_joined_at(policy_kind, elements, found, index) := _join(policy_kind, elements, found[index]) if index < count(found)

# A fold as in `bridge.lib.recursion`.
_joined_512(policy_kind, elements, found) := _joined_64(policy_kind, elements, found) if count(found) <= 64

_joined_512(policy_kind, elements, found) := h if {
	count(found) > 64
	a := _joined_64(policy_kind, elements, array.slice(found, 0, 64))
	b := _joined_64(policy_kind, a, array.slice(found, 64, 128))
	c := _joined_64(policy_kind, b, array.slice(found, 128, 192))
	d := _joined_64(policy_kind, c, array.slice(found, 192, 256))
	e := _joined_64(policy_kind, d, array.slice(found, 256, 320))
	f := _joined_64(policy_kind, e, array.slice(found, 320, 384))
	g := _joined_64(policy_kind, f, array.slice(found, 384, 448))
	h := _joined_64(policy_kind, g, array.slice(found, 448, 512))
}

_joined_64(policy_kind, elements, found) := _joined_8(policy_kind, elements, found) if count(found) <= 8

_joined_64(policy_kind, elements, found) := h if {
	count(found) > 8
	a := _joined_8(policy_kind, elements, array.slice(found, 0, 8))
	b := _joined_8(policy_kind, a, array.slice(found, 8, 16))
	c := _joined_8(policy_kind, b, array.slice(found, 16, 24))
	d := _joined_8(policy_kind, c, array.slice(found, 24, 32))
	e := _joined_8(policy_kind, d, array.slice(found, 32, 40))
	f := _joined_8(policy_kind, e, array.slice(found, 40, 48))
	g := _joined_8(policy_kind, f, array.slice(found, 48, 56))
	h := _joined_8(policy_kind, g, array.slice(found, 56, 64))
}

_joined_8(policy_kind, elements, found) := h if {
	a := _joined_at(policy_kind, elements, found, 0)
	b := _joined_at(policy_kind, a, found, 1)
	c := _joined_at(policy_kind, b, found, 2)
	d := _joined_at(policy_kind, c, found, 3)
	e := _joined_at(policy_kind, d, found, 4)
	f := _joined_at(policy_kind, e, found, 5)
	g := _joined_at(policy_kind, f, found, 6)
	h := _joined_at(policy_kind, g, found, 7)
}
