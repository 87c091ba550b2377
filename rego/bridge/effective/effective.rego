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
#   The merged policies of a stack, `{spec, origins, side}`, or `{error}`. `side` has items of lists by their keys if
#   the kind has merge rules, and is absent if policies are listed instead of merged. It is a function of the stack
#   only, so OPA merges once for all targets that share the stack.
merged_stack(attached) := {"spec": plain_side.spec, "origins": plain_side.origins, "side": plain_side} if {
	kinds.traits(kind_of(attached)).plain
	elements := order(joins(kind_of(attached), attached))
	plain_side := _without_tombstones(merge.patch_sides([side(element) | some element in elements]), elements)
} else := listed_specs(attached) if {
	kinds.is_additive(kind_of(attached))
} else := {"error": joined_order.error} if {
	joined_order := precedence(joins(kind_of(attached), attached), ranks(kind_of(attached), attached))
	joined_order.error
} else := object.union(merge.plain_result(result), {"side": result}) if {
	policy_kind := kind_of(attached)
	item_ranks := ranks(policy_kind, attached)
	result := _by_policies(policy_kind, apply_order(precedence(joins(policy_kind, attached), item_ranks), item_ranks))
}

# Most specs have no null.
_without_tombstones(result, elements) := merge.plain_result(result) if {
	some element in elements
	policies.facts(element).tombstones
} else := result

_by_policies(policy_kind, result) := without_parts(result) if {
	kinds.merges_parts(policy_kind)
} else := result

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
