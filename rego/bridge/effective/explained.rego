package bridge.effective

import data.bridge.merge

# METADATA
# description: |
#   What `at` tells of an effective target, with the steps by which each spec was made, in their order:
#   `{established, challenger, strategy, winner, result}`. The sides are named by the policies that were merged into them,
#   the established ones first; `winner` is Established, Challenger or Both; `result` is the spec after the step, with the nulls that still take fields away (GEP-713,
#   "Abstract process for calculating effective policies"; semantics F3). One policy alone takes no step.
explained(policy_kind, node, source) := [object.union(entry, {"steps": _steps(policy_kind, attached, path[0])}) |
	some [path, attached] in stacks(policy_kind, node, source)
	entry := _entry(path, attached)
]

_steps(policy_kind, attached, root) := _fold_512({}, ops).steps if {
	_foldable(attached, root)
	ops := [object.union(op, {"told": true}) | some op in level_ops(policy_kind, attached)]
} else := []

# METADATA
# description: |
#   The history of a fold after one of its operations, `{steps, members, joining}`: the steps so far, the policies of what
#   is merged, and those of the level that is being merged.
with_steps(acc, op, level, next) := {
	"steps": array.concat(
		object.get(acc, "steps", []),
		array.concat(_step_within(op, joining, level), _step_across(op, members, joined, next)),
	),
	"members": _members_after(op.across, members, joined),
	"joining": [policy | some policy in joined; count(op.across) == 0],
} if {
	members := object.get(acc, "members", [])
	joining := object.get(acc, "joining", [])
	joined := array.concat([op.policy], joining)
}

_step_within(op, joining, level) := [_step_told([op.policy], joining, how, level) | some how in op.within]

_step_across(op, members, joined, next) := [told |
	count(members) > 0
	some how in op.across
	told := _step_told(_first(how.upward, joined, members), _first(how.upward, members, joined), how, next.side)
]

_step_told(established, challenger, how, side) := object.union(
	{"established": established, "challenger": challenger, "strategy": how.strategy, "winner": _winners[how.strategy]},
	_result(side),
)

# Whose values stay where both sides have one. Under None only the more specific of the two has a say (semantics C2).
_winners := {
	"None": "Challenger",
	"AtomicDefaults": "Challenger",
	"PatchDefaults": "Challenger",
	"AtomicOverrides": "Established",
	"PatchOverrides": "Established",
	"Custom": "Both",
}

_result(side) := {"error": side.error} if side.error

_result(side) := {"result": merge.listed(side).spec} if not side.error

_first(true, one, _) := one

_first(false, _, other) := other

_members_after([], members, _) := members

_members_after([how], members, joined) := array.concat(_first(how.upward, joined, members), _first(how.upward, members, joined))
