package bridge.index

import data.bridge.lib.keys

# METADATA
# description: The keys of the objects and frontends that an object of a level puts above itself, as class, Gateway or parents.
default named_above(_, _) := set()

named_above("Gateway", obj) := {keys.named(keys.gateway_api, "GatewayClass", "", obj.spec.gatewayClassName)}

named_above("ListenerSet", obj) := {gateway_of(obj)}

# What the refs of many routes have in common is made once a query.
named_above("Route", route) := _parents_named(route.spec.parentRefs, route.metadata.namespace)

_parents_named(refs, namespace) := {parent_node(ref, namespace) | some ref in refs}

# METADATA
# description: The key of the Gateway that a ListenerSet names.
gateway_of(listener_set) := parent_key(listener_set.spec.parentRef, listener_set.metadata.namespace)

# METADATA
# description: The keys of the objects that an object of a level puts below itself, the backends of a route.
default named_below(_, _) := set()

named_below("Route", route) := {key |
	namespace := route.metadata.namespace
	some rule in route.spec.rules
	some key in _backends_named(rule.backendRefs, namespace)
}

_backends_named(refs, namespace) := {backend_key(ref, namespace) | some ref in refs}
