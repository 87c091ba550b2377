package bridge.effective

import data.bridge.kinds
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The effective policies of a target in the form of `policies_of`, with the steps of each merge in order:
#   `{established, challenger, strategy, winner, result}`. The sides are lists of their policies, the established ones
#   first. `winner` is Established, Challenger or Both. `result` is the spec after the step, with the nulls that still
#   remove fields (GEP-713, "Abstract process for calculating effective policies"; semantics F3). A single policy has no
#   step.
explanations(policy_kind, node, source) := [_explanation(path, attached) | some [path, attached] in stacks(policy_kind, node, source)]

# METADATA
# description: |
#   The same for any source, followed by the differences for single sources, with the source as `sourceNamespace`
#   (semantics P6).
explanations_for_all(policy_kind, node) := [object.union(_explanation(path, attached), {"sourceNamespace": source | source != ""}) |
	some source in sources(policy_kind, node)
	some [path, attached] in distinct_stacks(policy_kind, node, source)
]

_explanation(path, attached) := object.union(entry_of(path, attached), {"steps": _steps(attached, path[0])})

_steps(attached, root) := [] if {
	not within_bounds(attached, root)
} else := [] if {
	kinds.is_additive(kind_of(attached))
} else := plain_steps(attached) if {
	kinds.traits(kind_of(attached)).plain
} else := array.flatten([array.concat(_steps_within(attached, join.policies), _step_of(attached, index)) |
	some index, join in joins(attached)
])

_steps_within(attached, side) := [step |
	level := joins_of_level(side)
	some number in numbers.range(1, count(level) - 1)
	count(level) > 1
	step := _step(attached, level, number)
]

_step_of(_, 0) := []

_step_of(attached, index) := [_step(attached, joins(attached), index)] if index > 0

# The step that adds a join to the previous ones.
_step(attached, found, index) := object.union(
	{
		"established": join.policies,
		"challenger": [policy | some earlier in array.reverse(array.slice(found, 0, index)); some policy in earlier.policies],
		"strategy": join.strategy,
		"winner": winner_of[join.strategy],
	},
	_result_of_step(precedence(kind_of(attached), array.slice(found, 0, index + 1)), rules_of(attached)),
) if {
	join := found[index]
}

_result_of_step(elements, _) := elements if elements.error

_result_of_step(elements, rules) := {"result": merge.plain_side(merged_elements(elements, rules)).spec} if not elements.error

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
