package bridge.effective

import data.bridge.policy as policies

# METADATA
# description: |
#   The steps of a stack of a kind that joins every policy from the most specific one upward, each by its own strategy.
#   A step costs a constant number of expressions: each list has one entry for each policy, `{}` if the policy is not at
#   that place, and a step applies the slices of these lists that begin after its base (see `order`).
plain_steps(attached) := [step |
	some number in numbers.range(1, last)
	entry := upward[number]
	base := max(array.slice(bases, 0, number + 1))
	below := array.slice(lower, last - number, last - base)
	step := {
		"established": [entry.policy],
		"challenger": array.slice(in_stack_order, count(upward) - number, count(upward)),
		"strategy": entry.strategy,
		"winner": winner_of[entry.strategy],
		"result": object.union_n(array.flatten([below, upward[base].spec, array.slice(higher, base + 1, number + 1)])),
	}
] if {
	last := count(attached) - 1
	last > 0
	in_stack_order := [entry.policy | some entry in attached]
	upward := [{"policy": policy, "strategy": known.strategy, "spec": known.spec} |
		some policy in array.reverse(in_stack_order)
		known := policies.facts(policy)
	]
	bases := [{true: number, false: 0}[places_by_strategy[entry.strategy] == "Alone"] | some number, entry in upward]
	lower := [{true: entry.spec, false: {}}[places_by_strategy[entry.strategy] == "Below"] | some entry in array.reverse(upward)]
	higher := [{true: entry.spec, false: {}}[places_by_strategy[entry.strategy] == "Above"] | some entry in upward]
} else := []

# METADATA
# description: |
#   The side whose values remain in a step if both sides have one. Under None only the more specific side counts
#   (semantics C2).
winner_of := {
	"None": "Challenger",
	"AtomicDefaults": "Challenger",
	"PatchDefaults": "Challenger",
	"AtomicOverrides": "Established",
	"PatchOverrides": "Established",
	"Custom": "Both",
}
