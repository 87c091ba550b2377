package bridge.outcomes

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.levels

# METADATA
# description: |
#   The ancestors of a policy's status entries for a path: the nodes at the kind's ancestorLevel or, if there are none
#   (or the level is Target), the policy's own targets (semantics S3). An Inherited kind's path has one; a Direct kind's
#   path is its target only (C2), so its ancestors are the nodes above that by links that count.
ancestors(policy_kind, path, targets) := {""} if {
	not has_ancestors(policy_kind)
} else := found if {
	found := {node | some node in path; _is_ancestor(policy_kind, node)}
	count(found) > 0
} else := found if {
	keeps_status_above(policy_kind)

	# A port without a route has the ancestors of its Service.
	found := [above |
		some node in array.concat([path[count(path) - 1]], targets)
		above := _ancestors_above(policy_kind, node)
		count(above) > 0
	][0]
} else := {target | some target in targets}

# METADATA
# description: The statuses of a kind have an entry for each ancestor.
has_ancestors(policy_kind) if {
	kinds.get(policy_kind).statusShape == "Ancestors"
} else := false

# METADATA
# description: A Direct kind reports statuses for objects above its targets, so changes of these objects affect it.
keeps_status_above(policy_kind) if {
	kinds.is_direct(policy_kind)
	kind := kinds.get(policy_kind)
	kind.statusShape == "Ancestors"
	kind.ancestorLevel != "Target"
}

_is_ancestor(policy_kind, node) if levels.of(node) == kinds.get(policy_kind).ancestorLevel

_ancestors_above(policy_kind, node) := {above |
	some path in hierarchy.counted_paths(policy_kind, hierarchy.paths(node, false))
	some above in path
	_is_ancestor(policy_kind, above)
}
