package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The listeners of a Gateway or ListenerSet; of two with one name the first (the API refuses such an object).
listeners(object_key) := named if {
	all := lookup.get(object_key).spec.listeners
	named := [listener | some listener in all; section_name(listener, "") == listener.name]
	count({listener.name | some listener in named}) == count(named)
} else := [listener |
	all := lookup.get(object_key).spec.listeners
	some index, listener in all
	section_name(listener, "") == listener.name
	not listener.name in {earlier.name | some earlier in array.slice(all, 0, index)}
]

# The class of a Gateway stands above it.
_named_above("Gateway", obj) := {keys.format(gateway_api, "GatewayClass", "", obj.spec.gatewayClassName)}

_object_parents("Gateway", gateway) := {class |
	some class in lookup.declared_parents(gateway)
	startswith(class, "gateway.networking.k8s.io/GatewayClass/")
	exists(class)
}
