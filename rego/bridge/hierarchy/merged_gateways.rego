package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lookup

# The Gateways of a class may share their proxies (Envoy Gateway, mergeGateways): of two listeners with the same protocol,
# port and hostname only that of the older Gateway counts (v1.9, validateConflictedMergedListeners).

# Some Gateways may share proxies: an object exists that may say so. Computed once for a query, which avoids lookups if none does.
may_merge if {
	data.objects["gateway.envoyproxy.io"].EnvoyProxy[_]
} else := false if {
	lookup.has_no_changes
} else if {
	some key, _ in lookup.upserts
	keys.type_of(key) in implementations.merging_types
} else := false

# The GatewayClasses whose Gateways share proxies. Computed once for a query.
merging_classes := {class |
	may_merge
	some name, obj in lookup.objects_in("gateway.networking.k8s.io/GatewayClass", "-")
	setting := implementations.merging[obj.spec.controllerName]
	key := _parameters_of(obj)
	keys.type_of(key) == setting.type
	object.get(lookup.get(key), setting.field, false) == true
	class := concat("/", ["gateway.networking.k8s.io/GatewayClass/-", name])
}

_parameters_of(class) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	ref := class.spec.parametersRef
}

# The other Gateways that share proxies with a Gateway.
merged_with(gateway) := set() if {
	not may_merge
} else := {other |
	some class in index.facts(gateway).class
	class in merging_classes
	some other in index.declared_children(class)
	other != gateway
	lookup.has_object(other)
}

# The listeners of a Gateway or ListenerSet that an older Gateway of the same proxies has, too.
lost_to_merged(object_key) := {name: {"reason": "HostnameConflict", "rival": rival} |
	gateway := gateway_of_listeners(object_key)
	earlier := [other | some [_, _, other] in sort({_order_of(other) | some other in merged_with(gateway); _order_of(other) < _order_of(gateway)})]
	earlier != []
	some port, slots in index.facts(object_key).claims
	some slot, listeners_there in slots
	some name, protocol in listeners_there
	rival := [holder |
		some other in earlier
		some holder in sort(holders_at(other, port))
		protocol in {claimed | some claimed in index.facts(holder).claims[port][slot]}
	][0]
}

_order_of(gateway) := [lookup.age(gateway), keys.alphabetical(gateway), gateway]

# A Gateway and its ListenerSets with listeners at a port.
holders_at(gateway, port) := {holder |
	some holder in holders_of_port(gateway, port)
	gateway_of_listeners(holder) == gateway
}

# A Gateway of these proxies is where a listener lost.
is_merged_rival(object_key, rival) if gateway_of_listeners(rival) in merged_with(gateway_of_listeners(object_key))

# The objects that are concerned if objects change on which sharing proxies depends: the Gateways of the class of a changed
# Gateway or ListenerSet, and those of a changed class, or of one whose parameters changed.
shared_through(key) := {gateway |
	some class in _classes_concerned(key)
	some gateway in index.declared_children(class)
}

_classes_concerned(key) := {key} if {
	keys.type_of(key) == "gateway.networking.k8s.io/GatewayClass"
} else := {class |
	some name, obj in lookup.objects_in("gateway.networking.k8s.io/GatewayClass", "-")
	_parameters_of(obj) == key
	class := concat("/", ["gateway.networking.k8s.io/GatewayClass/-", name])
} if {
	keys.type_of(key) in implementations.merging_types
} else := {class |
	merging_classes != set()
	some gateway in ({key} | index.declared_parents(key))
	some class in index.facts(gateway).class
	class in merging_classes
} if {
	keys.type_of(key) in {"gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/ListenerSet"}
} else := set()
