package bridge.attachment

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# Policies of a kind act at a named target only if a label of it, or else of its Namespace, names what serves it (`label` and
# `servedBy` of the kind's targets). Why nothing is known to serve an object, as the rest of a sentence about it.
unserved_because(policy_kind, object_key) := why if {
	label := kinds.target_condition(policy_kind, keys.type_of(object_key), "label")
	why := _why_unserved(policy_kind, object_key, label, _value_of(object_key, label))
}

# METADATA
# description: The Gateway that serves a target of a kind by a label, whether it exists or not. Undefined for other targets.
serving_gateway(policy_kind, object_key) := keys.named(keys.gateway_api, "Gateway", namespace, name) if {
	type := keys.type_of(object_key)
	served_by := kinds.target_condition(policy_kind, type, "servedBy")
	label := kinds.target_condition(policy_kind, type, "label")
	labels := _labels_with(object_key, label)
	name := labels[label]
	not name in {"", "none"}
	namespace := object.get(labels, object.get(served_by, "namespaceLabel", ""), keys.namespace(object_key))
}

# METADATA
# description: One of these objects, Gateways or GatewayClasses, decides whether a target of a kind is served.
is_served_through(policy_kind, object_key, changed) if {
	gateway := serving_gateway(policy_kind, object_key)
	some key in {gateway, _class_of(gateway)}
	key in changed
}

_class_of(gateway) := keys.named(keys.gateway_api, "GatewayClass", "", lookup.get(gateway).spec.gatewayClassName) if {
	true
} else := ""

# The labels of an object if they have this one, or else of its Namespace.
_labels_with(object_key, label) := own if {
	own := _own_labels(object_key)
	is_string(own[label])
} else := lookup.namespace_labels(keys.namespace(object_key))

_value_of(object_key, label) := object.get(_labels_with(object_key, label), label, null)

_why_unserved(_, object_key, label, null) := sprintf("%s, and neither that nor its Namespace has the label %s", [keys.describe(object_key), label])

_why_unserved(_, object_key, label, "") := sprintf("%s, whose label %s is empty", [keys.describe(object_key), label])

# Istio reserves the name.
_why_unserved(_, object_key, label, "none") := sprintf("%s, whose label %s is none", [keys.describe(object_key), label])

_why_unserved(policy_kind, object_key, label, name) := sprintf("%s, whose label %s names %s, %s", [keys.describe(object_key), label, keys.describe(gateway), flaw]) if {
	not name in {null, "", "none"}
	served_by := kinds.target_condition(policy_kind, keys.type_of(object_key), "servedBy")
	gateway := serving_gateway(policy_kind, object_key)
	flaw := _flaw_of(gateway, served_by)
}

# Where a view or the rights of a user leave out Gateways, one that is missing may exist.
_flaw_of(gateway, _) := "which does not exist" if {
	not lookup.has_object(gateway)
	not lookup.has_view
	not "gateway.networking.k8s.io/Gateway" in lookup.partly_read
}

_flaw_of(gateway, served_by) := flaw if {
	class := lookup.get(gateway).spec.gatewayClassName
	not class in object.get(served_by, "classes", [])
	not lookup.get(_class_of(gateway)).spec.controllerName in served_by.controllers
	flaw := sprintf("whose GatewayClass %s is not known as one of %s", [class, concat(" or ", sort(served_by.controllers))])
} else := flaw if {
	labels := object.union(_own_labels(_class_of(gateway)), _own_labels(gateway))
	value := labels[served_by.exceptLabel]
	value in served_by.exceptValues
	flaw := sprintf("whose label %s is %s", [served_by.exceptLabel, value])
}

_own_labels(key) := lookup.get(key).metadata.labels if {
	true
} else := {}
