package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The Gateways of a class may share their proxies (Envoy Gateway, mergeGateways): of two listeners with the same protocol,
# port and hostname only that of the older Gateway counts (v1.9, validateConflictedMergedListeners).

# Gateways of some class share their proxies. Queries evaluate this often: it first looks whether an object exists that may let
# them, by the place of that of `implementations.merging`.
shares_proxies if {
	data.objects["gateway.envoyproxy.io"].EnvoyProxy[_]
	merging_classes != set()
} else := false if {
	lookup.has_no_changes
} else if {
	strings.any_prefix_match(object.keys(lookup.upserts), implementations.merging_prefixes)
	merging_classes != set()
} else := false

# The GatewayClasses whose Gateways share proxies.
merging_classes := {class |
	some name, obj in lookup.objects_in(_class_type, "-")
	lets_share_proxies(obj)
	class := _class_key(name)
}

# An object lets Gateways share proxies: a class, or parameters for a class.
lets_share_proxies(class) if {
	key := _sharing_parameters(class)
	_says_so(implementations.merging[class.spec.controllerName], lookup.get(key))
}

lets_share_proxies(parameters) if {
	some setting in implementations.merging
	implementations.merging_type(setting) == keys.type(parameters.apiVersion, parameters.kind)
	_says_so(setting, parameters)
}

_says_so(setting, parameters) if object.get(parameters, setting.field, false) == true

# The object that a GatewayClass names as its parameters and that may say that its Gateways share proxies. Undefined for other
# classes.
_sharing_parameters(class) := key if {
	setting := implementations.merging[class.spec.controllerName]
	key := _parameters_of(class)
	keys.type_of(key) == implementations.merging_type(setting)
}

_class_type := "gateway.networking.k8s.io/GatewayClass"

_class_key(name) := concat("", [_class_type, "/-/", name])

_parameters_of(class) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	ref := class.spec.parametersRef
}

# The other Gateways that share proxies with a Gateway.
merged_with(gateway) := set() if {
	not shares_proxies
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

# The object on which it depends whether the Gateways of a class share proxies, whether it exists or not, as a set of at most
# one.
sharing_parameters(class) := {key | key := _sharing_parameters(lookup.get(class))}

# The parameters of a class that the user of a command may not read, if it may have several Gateways: then these may share
# proxies.
unread_parameters(class) := {key |
	some key in sharing_parameters(class)
	lookup.may_be_unread(key)
	_may_have_several(class)
}

_may_have_several(class) if count(index.declared_children(class)) > 1
_may_have_several(_) if "gateway.networking.k8s.io/Gateway" in lookup.partly_read

# The Gateways and ListenerSets whose listeners a change of the objects `changed` may decide because Gateways share proxies, or
# did: all of the same class. `was` has by key the former index paths.
sharing_with(changed, was) := set() if {
	not shares_proxies
	not _ends_sharing(changed)
} else := with_listener_sets({gateway |
	some key in changed
	some class in _classes_of_change(key, object.get(was, key, []))
	some gateway in index.declared_children(class)
})

# Gateways with their ListenerSets.
with_listener_sets(gateways) := gateways | {listener_set | some gateway in gateways; some listener_set in index.listener_sets_of(gateway)}

# Without Gateways that share proxies now, a change of a class or of its parameters may be the reason.
_ends_sharing(changed) if strings.any_prefix_match(changed, implementations.merging_prefixes)

_ends_sharing(changed) if {
	strings.any_prefix_match(changed, "gateway.networking.k8s.io/GatewayClass/")
	some type in implementations.merging_types
	lookup.keys_of(type) != set()
}

_classes_of_change(key, former) := {key} if {
	keys.type_of(key) == _class_type
} else := {_class_key(name) |
	some name, class in lookup.objects_in(_class_type, "-")
	_parameters_of(class) == key
} if {
	keys.type_of(key) in implementations.merging_types
} else := merging_classes & ({class |
	some gateway in gateways_beside(key, former)
	some class in index.facts(gateway).class
} | {path[1] | some path in former; path[0] == "children"}) if {
	levels.of(key) in {"Gateway", "ListenerSet", "Namespace"}
} else := set()

# The Gateways whose listeners may conflict, or share ports, with those of ListenerSets because of a change of an object with
# these former index paths.
gateways_beside(key, former) := _gateways_beside(levels.of(key), key, former)

default _gateways_beside(_, _, _) := set()

_gateways_beside("Gateway", gateway, _) := {gateway}
_gateways_beside("ListenerSet", listener_set, former) := index.declared_parents(listener_set) | {gateway | some ["children", gateway] in former}

_gateways_beside("Namespace", namespace, _) := {gateway |
	type := "gateway.networking.k8s.io/ListenerSet"
	some name, _ in lookup.objects_in(type, keys.parse(namespace).name)
	some gateway in index.declared_parents(concat("/", [type, keys.parse(namespace).name, name]))
}
