package bridge.effective

import data.bridge.kinds
import data.bridge.merge

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

_steps(attached, root) := plain_steps(attached) if {
	within_bounds(attached, root)
	kinds.traits(kind_of(attached)).plain
} else := array.flatten([_steps_of(attached, index) | some index, _ in joins(kind_of(attached), attached)]) if {
	within_bounds(attached, root)
	not kinds.is_additive(kind_of(attached))
} else := []

# The steps within a side, then the step that joins it to the previous ones.
_steps_of(attached, index) := array.concat(
	[step |
		level := joins_of_level(found[index].policies)
		some number in numbers.range(1, count(level) - 1)
		step := _step(
			[policy | some policy in level[number].policies],
			[level[other].policies[0] | some other in numbers.range(number - 1, 0)],
			level[number],
			precedence(array.slice(level, 0, number + 1), item_ranks),
			item_ranks,
		)
		count(level) > 1
	],
	[step |
		index > 0
		[established, challenger] := _sides_of_join(found, index)
		step := _step(established, challenger, found[index], precedence(array.slice(found, 0, index + 1), item_ranks), item_ranks)
	],
) if {
	found := joins(kind_of(attached), attached)
	item_ranks := ranks(kind_of(attached), attached)
}

# The policies that a step joins, the established ones first.
_sides_of_join(found, index) := [own, before] if {
	found[index].upward
	own := found[index].policies
	before := _in_stack_order(array.slice(found, 0, index))
} else := [before, own] if {
	own := found[index].policies
	before := _in_stack_order(array.slice(found, 0, index))
}

# Upward, the last join is at the top.
_in_stack_order(found) := array.concat(
	[policy | some join in array.reverse([join | some join in found; join.upward]); some policy in join.policies],
	[policy | some join in found; not join.upward; some policy in join.policies],
)

_step(established, challenger, join, ordered, item_ranks) := object.union(
	{"established": established, "challenger": challenger, "strategy": join.strategy, "winner": winner_of[join.strategy]},
	_outcome_of_step(ordered, item_ranks),
)

_outcome_of_step(ordered, _) := {"error": ordered.error} if ordered.error

_outcome_of_step(ordered, item_ranks) := {"result": merge.plain_side(apply_order(ordered, item_ranks)).spec} if not ordered.error
