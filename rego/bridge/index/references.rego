package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The key of the object that a parentRef of a route or ListenerSet in a namespace names; undefined if such an object
#   cannot exist.
parent_key(ref, namespace) := keys.named(
	object.get(ref, "group", keys.gateway_api),
	object.get(ref, "kind", "Gateway"),
	object.get(ref, "namespace", namespace),
	ref.name,
)

# METADATA
# description: |
#   The node that a parentRef names. An object that is neither a Gateway nor a ListenerSet, and of no other known level,
#   is a mesh frontend.
parent_node(ref, namespace) := node if {
	node := parent_key(ref, namespace)
	levels.of_type(keys.type_of(node)) != "Backend"
} else := keys.frontend(parent_key(ref, namespace))

# METADATA
# description: |
#   The key of the object that a backendRef of a route in this namespace names (a Service by default). Undefined if such
#   an object cannot exist.
backend_key(ref, namespace) := keys.named(
	object.get(ref, "group", ""),
	object.get(ref, "kind", "Service"),
	object.get(ref, "namespace", namespace),
	ref.name,
)
