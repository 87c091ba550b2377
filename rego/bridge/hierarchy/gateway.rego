package bridge.hierarchy

import data.bridge.lib.keys

# METADATA
# description: The listeners of a Gateway or ListenerSet; of two with one name the first (the API refuses such an object).
listeners(object_key) := facts(object_key).listeners

_listeners_of(all) := named if {
	named := [listener | some listener in all; section_name(listener, "") == listener.name]
	count({listener.name | some listener in named}) == count(named)
} else := [listener |
	some index, listener in all
	section_name(listener, "") == listener.name
	not listener.name in {earlier.name | some earlier in array.slice(all, 0, index)}
]

# The class of a Gateway stands above it.
_named_above("Gateway", obj) := {keys.named(gateway_api, "GatewayClass", "", obj.spec.gatewayClassName)}

_object_parents("Gateway", gateway) := {class |
	some class in facts(gateway).class
	exists(class)
}
