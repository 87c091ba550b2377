package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The keys of the objects and frontends that an object of a level names above itself, as class, Gateway or parents.
default named_above(_, _) := set()

named_above("Gateway", obj) := {keys.named(keys.gateway_api, "GatewayClass", "", obj.spec.gatewayClassName)}

named_above("ListenerSet", obj) := {gateway_of(obj)}

named_above("Route", route) := default_keys(route.spec.useDefaultGateways) | parents_named(object.get(route.spec, "parentRefs", []), route.metadata.namespace) if {
	route.spec.useDefaultGateways
} else := parents_named(route.spec.parentRefs, route.metadata.namespace)

# METADATA
# description: The nodes that parentRefs of a namespace name. Many routes have the same parentRefs.
parents_named(refs, namespace) := {parent_node(ref, namespace) | some ref in refs}

# METADATA
# description: The key of the Gateway that a ListenerSet names.
gateway_of(listener_set) := parent_key(listener_set.spec.parentRef, listener_set.metadata.namespace)

# METADATA
# description: The keys of the objects that an object of a level names below itself, the backends of a route.
default named_below(_, _) := set()

named_below("Gateway", gateway) := default_keys(gateway.spec.defaultScope)

named_below("Route", route) := backends_of_rules(route.spec.rules, route.metadata.namespace)

# METADATA
# description: The objects that rules of a namespace name as backends, including their filters' backends.
backends_of_rules(rules, namespace) := backends_named([rule.backendRefs | some rule in rules], namespace) | backends_named([filter_refs(rules)], namespace)

# METADATA
# description: |
#   The objects that lists of backendRefs of a namespace name. Routes of a namespace often have the same backends.
backends_named(lists, namespace) := {backend_key(ref, namespace) | some refs in lists; some ref in refs}

# METADATA
# description: |
#   The key between default Gateways and the routes that use them (Gateway API, Gateway.spec.defaultScope and
#   useDefaultGateways of a route): below the former and above the latter in the index. No object can have this key.
default_gateways_key := "gateway.networking.k8s.io/Gateway/-/All"

# METADATA
# description: |
#   The same for a scope, as a set; empty except for All, the only scope that Gateway API defines besides None.
default_keys(scope) := {default_gateways_key} if {
	scope == "All"
} else := set()
