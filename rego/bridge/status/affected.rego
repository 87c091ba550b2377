package bridge.status

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The conditions `<domain>/<Kind>Affected` that an object should show, one for each policy kind in mode Manage whose
#   policies act on it or on a section of it (GEP-713, "Target object status"; semantics S4). `acting` holds by policy
#   kind the policies that are not Overridden on some path there.
affected(object_key, acting) := [observed(object_key, condition) |
	some policy_kind in sort(object.keys(acting))
	count(acting[policy_kind]) > 0
	kind := kinds.get(policy_kind)
	marks(kind)
	condition := {
		"type": affected_type(kind),
		"status": "True",
		"reason": "Affected",
		"message": fitted(sprintf("Affected by %s %s", [kind.kind, _names(acting[policy_kind])])),
	}
]

# METADATA
# description: The condition type by which a policy kind marks what it affects.
affected_type(kind) := sprintf("%s/%sAffected", [split(kind.controllerName, "/")[0], kind.kind])

# METADATA
# description: A policy kind marks the objects that it affects.
marks(kind) if {
	kind.mode == "Manage"
	kind.fanout != "None"
}

# METADATA
# description: Types whose objects show conditions at status.conditions.
marked_types := {
	"core/Service",
	"core/Namespace",
	"gateway.networking.k8s.io/Gateway",
	"gateway.networking.k8s.io/GatewayClass",
}

# METADATA
# description: All condition types of that form that are ours to set and to take away.
our_types := {affected_type(kind) |
	some name in kinds.names
	kind := kinds.get(name)
	kind.mode == "Manage"
}

# METADATA
# description: The policies that act on an object or its sections, by policy kind; what `affected` is told.
acting(object_key) := {policy_kind: policies |
	some policy_kind in kinds.names
	kind := kinds.get(policy_kind)
	marks(kind)
	policies := {row.policy |
		some node in ({object_key} | hierarchy.sections(object_key))
		effective.acts_at(policy_kind, node)
		some row in effective.rows(policy_kind, node)
		row.affects
	}
	count(policies) > 0
}

_names(policies) := concat(", ", array.concat(array.slice(names, 0, 20), _more_names(count(names) - 20))) if {
	names := sort([keys.short(policy) | some policy in policies])
}

_more_names(number) := [] if number <= 0

_more_names(number) := [sprintf("and %d more", [number])] if number > 0
