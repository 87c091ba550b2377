package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The effective policy of one kind at one effective target, for each path that has a policy and counts for requests
#   from a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; `{path, error, policies}` if the
#   stack or the path exceeds its bound.
policies_of(policy_kind, node, source) := [entry |
	some [path, attached] in stacks(policy_kind, node, source)
	entry := entry_of(path, attached)
]

# METADATA
# description: The effective policy of a stack at a path, in the form of `policies_of`.
entry_of(path, attached) := object.union({"path": path}, _result(attached)) if {
	within_bounds(attached, path[0])
} else := {
	"path": path,
	"error": {"code": "BoundExceeded", "message": bound_message(attached, path[0])},
	"policies": _stack_entries(attached),
}

# METADATA
# description: The maximum number of policies of a stack. A longer stack is an error of its path, never a silent cut.
stack_bound := 512

# METADATA
# description: A stack and its path are within their bounds. `root` is the first node of the path.
within_bounds(attached, root) if {
	root != hierarchy.path_bound_mark
	count(attached) <= stack_bound
	policies.leaves_within_bound([entry.policy | some entry in attached])
}

# METADATA
# description: The message for a stack, or its path, above its bound.
bound_message(attached, root) := sprintf("%d policies meet here; at most %d can be merged", [count(attached), stack_bound]) if {
	root != hierarchy.path_bound_mark
	count(attached) > stack_bound
} else := sprintf("Policies with more than %d leaves meet here, which is the bound on what can be merged", [policies.leaf_bound]) if {
	root != hierarchy.path_bound_mark
} else := sprintf("More than %d paths lead to this target, or longer ones than %d objects", [hierarchy.paths_bound, hierarchy.path_bound])

_stack_entries(attached) := [object.union(entry, {"strategy": policies.strategy_of(entry.policy)}) | some entry in attached]

_result(attached) := {"error": result.error, "policies": _stack_entries(attached)} if {
	result := merged_stack(attached)
	result.error
} else := {"spec": result.spec, "origins": result.origins, "policies": [object.union_n([entry, {"strategy": policies.strategy_of(entry.policy)}, outcome(attached, entry.policy)]) |
	some entry in _distinct_entries(attached)
]} if {
	result := merged_stack(attached)
}

# METADATA
# description: |
#   The merged policies of a stack, `{spec, origins, leaves}`, or `{error}`. `leaves` are the origins with the items of
#   lists that are merged by key by their keys; absent if policies are listed instead of merged. It is a function of the
#   stack only, so OPA merges once for all targets that share the stack.
merged_stack(attached) := {"spec": side.spec, "origins": side.origins, "leaves": side.origins} if {
	# Evaluates a third fewer expressions than the general form.
	kinds.traits(kind_of(attached)).plain
	elements := order(joins(attached))
	side := _without_tombstones(merged_elements(elements, []), elements)
} else := listed_specs(attached) if {
	kinds.is_additive(kind_of(attached))
} else := elements if {
	elements := precedence(kind_of(attached), joins(attached))
	elements.error
} else := object.union(merge.result_of(side), {"leaves": side.origins}) if {
	side := merged_elements(precedence(kind_of(attached), joins(attached)), rules_of(attached))
}

# Most specs have no null.
_without_tombstones(side, elements) := merge.result_of(side) if {
	some policy in elements
	policies.facts(policy).tombstones
} else := side

# METADATA
# description: |
#   The combined policies of a stack if every one applies (strategy Additive; semantics C4), `{spec, origins}`: the list
#   of their specs in the order of the kind, then of the stack, and each item's policy by the item's JSON pointer.
listed_specs(attached) := {
	"spec": [policies.facts(policy).spec | some policy in in_order],
	"origins": {sprintf("/%d", [place]): policy | some place, policy in in_order},
} if {
	in_order := [policy |
		some [_, _, policy] in sort([[object.get(policies.facts(entry.policy), "rank", []), place, entry.policy] |
			some place, entry in _distinct_entries(attached)
		])
	]
}

# METADATA
# description: The policy kind of a stack.
kind_of(attached) := keys.type_of(attached[0].policy)

# A policy that is attached at two places of the path is listed at the first (semantics P4).
_distinct_entries(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry |
	some index, entry in attached
	not entry.policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]
