package bridge.effective

import data.bridge.kinds
import data.bridge.lib.levels
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The sides that a kind joins, the established ones first; each is a list of policies, the older first. Under
#   OldestWins a level is one side (semantics F5), and so are the disjoint specs of one target under ConflictOnOverlap
#   (C2). Under Closest these are the last two, or the last one and the next above it at one of the kind's
#   `parentLevels` (F4).
sides(policy_kind, attached) := all_sides(policy_kind, attached) if {
	kinds.get(policy_kind).mergesWith == "All"
} else := array.slice(found, max([0, count(found) - 2]), count(found)) if {
	not kinds.get(policy_kind).parentLevels
	found := all_sides(policy_kind, attached)
} else := array.concat(array.slice(parents, count(parents) - 1, count(parents)), [found[last]]) if {
	found := all_sides(policy_kind, attached)
	last := count(found) - 1
	parents := [found[number] |
		some number, level in _side_levels(policy_kind, attached)
		number < last
		level in kinds.get(policy_kind).parentLevels
	]
}

# The level of each of `all_sides`.
_side_levels(policy_kind, attached) := [levels.of(attached[start].target) | some start in _side_starts(policy_kind, attached)]

# The start of each of `all_sides` in a stack.
_side_starts(policy_kind, attached) := [start | some start, _ in attached] if {
	not kinds.merges_by_level(policy_kind)
} else := [start | some start, entry in attached; _begins_a_level(attached, start, entry)]

# METADATA
# description: As `sides`, including those that `mergesWith` omits.
all_sides(policy_kind, attached) := [[entry.policy] | some entry in attached] if {
	not kinds.merges_by_level(policy_kind)
} else := [[entry.policy | some entry in array.slice(attached, start, end)] |
	starts := _side_starts(policy_kind, attached)
	some number, start in starts
	end := array.concat(starts, [count(attached)])[number + 1]
]

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
#   A policy, or `<policy> <part>` if both wrappers count, as a side of a merge, with its rules applied. The result of
#   an admin's rule is already a side.
side(element) := {"spec": known.spec, "origins": known.origins} if {
	known := policies.facts(element)
	known.rules == []
} else := element if {
	is_object(element)
} else := merge.keyed_side(known.spec, {"": element}, known.rules) if {
	known := policies.facts(element)
} else := merge.keyed_side(known.parts[part], {"": element}, known.rules) if {
	[policy, part] := split(element, " ")
	known := policies.facts(policy)
}
