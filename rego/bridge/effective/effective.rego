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

_unmerged(attached) := [object.union(entry, {"strategy": strategy_of(entry.policy)}) | some entry in attached]

# A function of the stack alone, so that OPA merges once for all targets that share it.
_merged(attached) := {"spec": result.spec, "origins": result.origins, "policies": policies} if {
	plain(_kind_of(attached))
	keys_attached := [entry.policy | some entry in attached]
	result := united(layers(keys_attached))
	policies := [object.union(entry, _fate_in(entry.policy, result.origins)) | some entry in _listed_once(attached)]
} else := {"error": merged.error, "policies": _unmerged(attached)} if {
	merged := folded(fold_ops(_kind_of(attached), attached))
	merged.error
} else := {"spec": result.spec, "origins": result.origins, "policies": policies} if {
	policy_kind := _kind_of(attached)
	merged := _by_policies(policy_kind, folded(fold_ops(policy_kind, attached)))
	result := finished(merged)
	once := _listed_once(attached)
	fate := _fate([entry.policy | some entry in once], merged)
	policies := [object.union_n([entry, {"strategy": strategy_of(entry.policy)}, fate[entry.policy]]) | some entry in once]
}

# A policy that is attached at two places of the path stands here at the first (semantics P4).
_listed_once(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry |
	some index, entry in attached
	not entry.policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]

# As `outcomes`, of one policy, with its strategy.
_fate_in(policy, origins) := {"strategy": known.strategy, "outcome": "Programmed", "overriddenBy": []} if {
	known := facts(policy)
	object.subset(origins, known.side.origins)
} else := object.union({"strategy": strategy_of(policy)}, _fate_of(policy, pointers, object.filter(origins, pointers), origins)) if {
	pointers := object.keys(facts(policy).side.origins)
}

_by_policies(policy_kind, side) := without_parts(side) if {
	both(policy_kind)
} else := side

_fate(policies, merged) := outcomes(policies, merged.origins) if {
	plain(keys.type_of(policies[0]))
} else := outcomes_by_rules(policies, merged)

_kind_of(attached) := keys.type_of(attached[0].policy)

_bound_message(attached, root) := sprintf("%d policies meet here; at most %d can be merged", [count(attached), fold_bound]) if {
	root != hierarchy.path_bound_mark
} else := "The hierarchy above this target is deeper than paths can be"
