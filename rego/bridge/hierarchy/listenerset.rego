package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# Only a Gateway that allows it is above a ListenerSet.
parents_of_level("ListenerSet", listener_set) := {gateway |
	gateway := index.gateway_of(lookup.get(listener_set))
	listener_set_rejection(listener_set, gateway) == ""
}

# METADATA
# description: |
#   The Gateway that exists and does not allow a ListenerSet; undefined where there is none, and for other nodes. A ListenerSet whose Gateway does not
#   exist is a root instead (semantics P2).
refusing_gateway(listener_set) := gateway if {
	levels.of(listener_set) == "ListenerSet"
	gateway := index.gateway_of(lookup.get(listener_set))
	listener_set_rejection(listener_set, gateway) == "NotAllowed"
}

# METADATA
# description: |
#   Why a Gateway does not accept a ListenerSet, as the reason of the ListenerSet's Accepted condition (Gateway API,
#   Gateway allowedListeners), or ParentNotFound; empty if it does.
listener_set_rejection(listener_set, gateway) := "ParentNotFound" if {
	not lookup.get(gateway)
} else := "NotAllowed" if {
	not _takes_listener_set(listener_set, gateway)
} else := ""

_takes_listener_set(listener_set, gateway) if {
	levels.of_type(keys.parse(gateway).type) == "Gateway"
	allowed := object.get(lookup.get(gateway).spec, ["allowedListeners", "namespaces"], {})
	namespaces_admit(allowed, "None", keys.parse(gateway).namespace, keys.parse(listener_set).namespace)
}
