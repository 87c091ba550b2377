package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The merged policies of a stack, `{spec, origins, leaves}`, or `{error}`. `leaves` are the origins with the items of
#   lists that are merged by key by their keys; absent if policies are listed instead of merged. It is a function of the
#   stack only, so OPA merges once for all targets that share the stack.
merged_stack(attached) := _listed_specs(attached) if {
	kinds.is_additive(kind_of(attached))
} else := _merged(precedence(kind_of(attached), joins(attached)), rules_of(attached))

_merged(elements, _) := elements if elements.error

_merged(elements, rules) := object.union(merge.plain_side(side, leaves.without_nulls(side.spec)), {"leaves": side.origins}) if {
	not elements.error
	side := merged_elements(elements, rules)
}

# Every policy applies (strategy Additive; semantics C4): the list of their specs in the order of the kind, then of the
# stack, and each item's policy by the item's JSON pointer.
_listed_specs(attached) := {
	"spec": [policies.facts(policy).spec | some policy in in_order],
	"origins": {sprintf("/%d", [place]): policy | some place, policy in in_order},
} if {
	in_order := [policy |
		some [_, _, policy] in sort([[object.get(policies.facts(entry.policy), "rank", []), place, entry.policy] |
			some place, entry in distinct_entries(attached)
		])
	]
}

# METADATA
# description: The policy kind of a stack.
kind_of(attached) := keys.type_of(attached[0].policy)

# METADATA
# description: |
#   The entries of a stack; of a policy that is attached at two places of the path, the first (semantics P4).
distinct_entries(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry |
	some index, entry in attached
	not entry.policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]

# METADATA
# description: |
#   The rules by which a stack merges (semantics F7, F8): the kind's, or with `parentLevels` those of the strategy that
#   the most specific policy selects.
rules_of(attached) := policies.facts(attached[count(attached) - 1].policy).rules

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
#   The joins of a stack, from the most specific side upward: `{policies, elements, strategy}`. `elements` are the
#   policies of the side in their own order of precedence (semantics F1, F2).
joins(attached) := [{"policies": side, "elements": _elements(side), "strategy": policies.strategy_of(_deciding(attached, side, joined))} |
	some side in array.reverse(sides(attached))
] if {
	joined := kinds.traits(kind_of(attached)).joins
}

# The established policy of a pair; with `parentLevels` the challenger (semantics F4).
_deciding(attached, _, "parents") := attached[count(attached) - 1].policy

_deciding(_, side, joined) := side[0] if joined != "parents"

# The order within one side: each older policy above the younger ones or instead of them (semantics F5).
_elements([policy]) := [policy]

_elements(side) := precedence(keys.type_of(side[0]), joins_of_level(side)) if count(side) > 1

# METADATA
# description: The joins within one side, the youngest policy first.
joins_of_level(side) := [{"policies": [policy], "elements": [policy], "strategy": strategy_within_level(policy)} |
	some policy in array.reverse(side)
]

# METADATA
# description: |
#   The strategy that merges a policy with a younger one of its level if the oldest of a level wins: the granularity of
#   its own strategy, always in its favor (semantics F5). For a Direct kind, both disjoint specs stay (semantics C2);
#   otherwise the whole older one stays, over one that conflicts with it only for requests of its namespace (P6).
strategy_within_level(policy) := replace(policies.strategy_of(policy), "Defaults", "Overrides") if {
	not kinds.is_direct(keys.type_of(policy))
} else := "PatchOverrides" if {
	kinds.of_policy(policy).sameLevel == "ConflictOnOverlap"
} else := "AtomicOverrides"

# METADATA
# description: |
#   The elements of joins in their order of precedence, the lowest first. An element is a policy or, where a Custom
#   strategy merged two sides, the merged side (semantics F9). `{error}` if that fails.
precedence(policy_kind, found) := _order(found) if {
	not kinds.get(policy_kind).custom
} else := _joined_512(policy_kind, found[0].elements, array.slice(found, 1, count(found)))

# In closed form (semantics F2): the last join with AtomicOverrides, or the first one, together with the later ones with
# PatchDefaults, the last one lowest, and those with PatchOverrides, the last one highest. Others are left out.
_order([join]) := join.elements

_order(found) := [element | some join in array.flatten([below, found[base], above]); some element in join.elements] if {
	count(found) > 1
	base := max(array.concat([0], [index | some index, join in found; join.strategy == "AtomicOverrides"]))
	later := array.slice(found, base + 1, count(found))
	below := array.reverse([join | some join in later; join.strategy == "PatchDefaults"])
	above := [join | some join in later; join.strategy == "PatchOverrides"]
}

# METADATA
# description: Elements, the lowest precedence first, merged by the kind's rules into one side.
merged_elements(elements, rules) := merge.merge_sides([side_of(element, rules) | some element in elements])

# METADATA
# description: An element as a side for merging by rules.
side_of(element, _) := element if is_object(element)

side_of(policy, rules) := {"spec": known.spec, "origins": known.origins} if {
	known := policies.facts(policy)
	known.rules == rules
	rules == []
} else := merge.keyed_side(policies.facts(policy).spec, policy, rules) if {
	is_string(policy)
}

_joined(policy_kind, elements, join) := elements if {
	elements.error
} else := join.elements if {
	join.elements.error
} else := _order([{"elements": elements, "strategy": "AtomicOverrides"}, join]) if {
	join.strategy != "Custom"
} else := _custom_elements(merge.custom_merge(
	kinds.get(policy_kind).custom,
	policy_kind,
	merged_elements(join.elements, []),
	merged_elements(elements, []),
))

_custom_elements(merged) := merged if {
	merged.error
} else := [merged]

_joined_at(_, elements, found, index) := elements if index >= count(found)

_joined_at(policy_kind, elements, found, index) := _joined(policy_kind, elements, found[index]) if index < count(found)

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
