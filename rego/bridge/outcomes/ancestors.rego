package bridge.outcomes

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The ancestors of a policy's status entries for a path: the nodes at the kind's ancestorLevel or, if there are none
#   (or the level is Target), the policy's own targets (semantics S3). An Inherited kind's path has one; a Direct kind's
#   path is its target only (C2), so its ancestors are the nodes above that by links that count. A path through another
#   controller's Gateway has none, "", if `gatewayControllers` limits the Gateways.
ancestors(policy_kind, path, targets) := {""} if {
	not has_ancestors(policy_kind)
} else := found if {
	found := {node | some node in path; _is_ancestor(policy_kind, node)}
	count(found) > 0
	not _foreign(policy_kind, path)
} else := {""} if {
	_foreign(policy_kind, path)
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
	not _foreign(policy_kind, path)
	some above in path
	_is_ancestor(policy_kind, above)
}

# A path through a Gateway whose class belongs to none of the kind's gatewayControllers.
_foreign(policy_kind, path) if {
	kinds.get(policy_kind).gatewayControllers
	kinds.get(policy_kind).ancestorLevel != "Target"
	some node in path
	levels.of(node) == "Gateway"
	not _is_of_controllers(policy_kind, node)
}

_is_of_controllers(policy_kind, gateway) if {
	some class in hierarchy.parents(gateway)
	lookup.get(class).spec.controllerName in kinds.get(policy_kind).gatewayControllers
}
