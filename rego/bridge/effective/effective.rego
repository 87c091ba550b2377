package bridge.effective

import data.bridge.hierarchy
import data.bridge.lib.keys

# METADATA
# description: |
#   The effective policy of one kind at one effective target, for each path that has a policy and counts for requests from
#   a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; a stack above the bound, or a path above its
#   own, gives `{path, error, policies}`.
at(policy_kind, node, source) := [entry |
	some [path, attached] in stacks(policy_kind, node, source)
	entry := _entry(path, attached)
]

_entry(path, attached) := object.union({"path": path}, _merged(attached)) if {
	_foldable(attached, path[0])
} else := {
	"path": path,
	"error": {"code": "BoundExceeded", "message": _bound_message(attached, path[0])},
	"policies": _unmerged(attached),
}

_foldable(attached, root) if {
	root != hierarchy.path_bound_mark
	count(attached) <= fold_bound
}

_unmerged(attached) := [object.union(entry, {"strategy": proper(entry.policy).strategy}) | some entry in attached]

# A function of the stack alone, so that OPA merges once for all targets that share it.
_merged(attached) := {"error": merged.error, "policies": _unmerged(attached)} if {
	merged := folded(fold_ops(_kind_of(attached), attached))
	merged.error
} else := {"spec": result.spec, "origins": result.origins, "policies": policies} if {
	order := [entry.policy | some entry in attached]
	merged := _by_policies(_kind_of(attached), folded(fold_ops(_kind_of(attached), attached)))
	result := finished(merged)
	fate := _fate(order, merged)
	policies := [row |
		some index, entry in attached
		not entry.policy in array.slice(order, 0, index)
		row := {
			"policy": entry.policy,
			"target": entry.target,
			"strategy": proper(entry.policy).strategy,
			"outcome": fate[entry.policy].outcome,
			"overriddenBy": fate[entry.policy].overriddenBy,
		}
	]
}

_by_policies(policy_kind, side) := without_parts(side) if {
	both(policy_kind)
} else := side

_fate(policies, merged) := outcomes(policies, merged.origins) if {
	plain(keys.parse(policies[0]).type)
} else := outcomes_by_rules(policies, merged)

_kind_of(attached) := keys.parse(attached[0].policy).type

_bound_message(attached, root) := sprintf("%d policies meet here; at most %d can be merged", [count(attached), fold_bound]) if {
	root != hierarchy.path_bound_mark
} else := "The hierarchy above this target is deeper than paths can be"
