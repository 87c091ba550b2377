package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The effective policy of one kind at one effective target, for each path that has a policy and counts for requests from
#   a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; a stack above the bound, or a path above its
#   own, gives `{path, error, policies}`.
at(policy_kind, node, source) := [entry |
	some [path, attached] in stacks(policy_kind, node, source)
	entry := entry_of(path, attached)
]

# METADATA
# description: The effective policy of a stack at a path, as `at` has it.
entry_of(path, attached) := object.union({"path": path}, _result(attached)) if {
	within_bounds(attached, path[0])
} else := {
	"path": path,
	"error": {"code": "BoundExceeded", "message": bound_message(attached, path[0])},
	"policies": _unmerged(attached),
}

# METADATA
# description: How many policies a stack may hold. A longer one is an error for its path, never a silent cut.
stack_bound := 512

# METADATA
# description: A stack and its path are within their bounds. `root` is the first node of the path.
within_bounds(attached, root) if {
	root != hierarchy.path_bound_mark
	count(attached) <= stack_bound
}

# METADATA
# description: How messages say that a stack, or its path, is above its bound.
bound_message(attached, root) := sprintf("%d policies meet here; at most %d can be merged", [count(attached), stack_bound]) if {
	root != hierarchy.path_bound_mark
} else := "The hierarchy above this target is deeper than paths can be"

_unmerged(attached) := [object.union(entry, {"strategy": policies.strategy_of(entry.policy)}) | some entry in attached]

_result(attached) := {"error": found.error, "policies": _unmerged(attached)} if {
	found := merged(attached)
	found.error
} else := {"spec": found.spec, "origins": found.origins, "policies": [object.union_n([entry, {"strategy": policies.strategy_of(entry.policy)}, outcome(attached, entry.policy)]) |
	some entry in _listed_once(attached)
]} if {
	found := merged(attached)
}

# METADATA
# description: |
#   The policies of a stack as one, `{spec, origins, side}`, or `{error}`. `side` has items of lists by their keys where the kind has
#   merge rules. A function of the stack alone, so that OPA merges once for all targets that share it.
merged(attached) := {"spec": plain_side.spec, "origins": plain_side.origins, "side": plain_side} if {
	kinds.traits(kind_of(attached)).plain
	elements := order(joins(kind_of(attached), attached))
	plain_side := _without_tombstones(merge.patched([side(element) | some element in elements]), elements)
} else := {"error": joined_order.error} if {
	joined_order := joined(joins(kind_of(attached), attached), ranks(kind_of(attached), attached))
	joined_order.error
} else := object.union(merge.finished(found), {"side": found}) if {
	policy_kind := kind_of(attached)
	ranked := ranks(policy_kind, attached)
	found := _by_policies(policy_kind, applied(joined(joins(policy_kind, attached), ranked), ranked))
}

# Most specs have no null.
_without_tombstones(found, elements) := merge.finished(found) if {
	some element in elements
	policies.facts(element).tombstones
} else := found

_by_policies(policy_kind, found) := without_parts(found) if {
	kinds.both_wrappers(policy_kind)
} else := found

# METADATA
# description: The policy kind of a stack.
kind_of(attached) := keys.type_of(attached[0].policy)

# A policy that is attached at two places of the path is listed at the first (semantics P4).
_listed_once(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry |
	some index, entry in attached
	not entry.policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]
