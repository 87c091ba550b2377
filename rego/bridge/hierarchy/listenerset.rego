package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# The Gateway of a ListenerSet stands above it.
_named_above("ListenerSet", obj) := {_gateway_of(obj)}

_gateway_of(listener_set) := _parent_key(listener_set.spec.parentRef, listener_set.metadata.namespace)

# Only a Gateway that allows it stands above a ListenerSet.
_object_parents("ListenerSet", listener_set) := {gateway |
	gateway := _gateway_of(lookup.get(listener_set))
	listener_set_refusal(listener_set, gateway) == ""
}

# METADATA
# description: |
#   Why a Gateway does not take a ListenerSet, as the reason of the ListenerSet's Accepted condition (Gateway API,
#   Gateway allowedListeners), or ParentNotFound; empty where it does.
listener_set_refusal(listener_set, gateway) := "ParentNotFound" if {
	not lookup.get(gateway)
} else := "NotAllowed" if {
	not _takes_listener_set(listener_set, gateway)
} else := ""

_takes_listener_set(listener_set, gateway) if {
	object_level(keys.parse(gateway).type) == "Gateway"
	allowed := object.get(lookup.get(gateway).spec, ["allowedListeners", "namespaces"], {})
	namespaces_admit(allowed, "None", keys.parse(gateway).namespace, keys.parse(listener_set).namespace)
}
