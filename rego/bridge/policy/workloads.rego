package bridge.policy

import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# METADATA
# description: |
#   A selector, as text, matches the labels of an object or of its workloads.
selects_object(text, object_key) if {
	selects_by_labels(text, object_key)
	selector := _selector_of(text)
	_admits_namespace(selector, keys.parse(object_key).namespace)
	not _is_left_out(selector, object_key)
}

# METADATA
# description: The labels of an object, or of its workloads, are those of a selector, whatever its Namespace and class.
selects_by_labels(text, object_key) if {
	selects(text, _labels_for(object.get(_selector_of(text), "by", "Objects"), object_key))
}

# METADATA
# description: The labels of Namespaces decide what a selector selects.
reads_namespaces(text) if {
	some field in ["matchLabels", "matchExpressions"]
	count(object.get(_selector_of(text), ["namespaces", field], [])) > 0
} else := false

# METADATA
# description: The controllers of GatewayClasses decide what a selector selects.
reads_controllers(text) if {
	_selector_of(text).controllers
} else := false

# A Gateway of an excluded class, or of another controller's class. A class that does not exist has no other controller
# (semantics P8).
_is_left_out(selector, object_key) if lookup.get(object_key).spec.gatewayClassName in selector.exceptClasses

_is_left_out(selector, object_key) if {
	class := concat("/", ["gateway.networking.k8s.io/GatewayClass/-", lookup.get(object_key).spec.gatewayClassName])
	controllers := selector.controllers
	controller := lookup.get(class).spec.controllerName
	not controller in controllers
}

_labels_for("Objects", object_key) := labels_of(parts.type, parts.name, object.get(lookup.get(object_key).metadata, "labels", {})) if {
	parts := keys.parse(object_key)
}

_labels_for("Workloads", object_key) := workload_labels(keys.type_of(object_key), lookup.get(object_key))

_admits_namespace(selector, _) if object.get(selector, "namespaces", {}) == {}

_admits_namespace(selector, namespace) if {
	object.get(selector, "namespaces", {}) != {}
	labels.selects(selector.namespaces, lookup.namespace_labels(namespace))
}

# METADATA
# description: |
#   The labels that every workload of an object has, according to the object: the labels by which a Service selects its Pods, and
#   the labels that Gateway API defines for the Pods of a Gateway (GEP-1762, GEP-1867). Undefined without such labels, because Pods
#   are not replicated.
workload_labels("core/Service", service) := service.spec.selector if {
	is_object(service.spec.selector)
	count(service.spec.selector) > 0
}

workload_labels("gateway.networking.k8s.io/Gateway", gateway) := object.union(_infrastructure_labels(gateway), {
	"gateway.networking.k8s.io/gateway-name": gateway.metadata.name,
	"gateway.networking.k8s.io/gateway-class-name": object.get(gateway.spec, "gatewayClassName", ""),
})

# Istio copies a Gateway's own labels, unless the infrastructure has labels.
_infrastructure_labels(gateway) := gateway.spec.infrastructure.labels if {
	is_object(gateway.spec.infrastructure.labels)
} else := gateway.metadata.labels if {
	is_object(gateway.metadata.labels)
} else := {}

# METADATA
# description: |
#   A selector, as text, matches these labels. Many objects share their labels, so OPA evaluates them once.
selects(text, labels_of_object) if labels.selects(_selector_of(text), labels_of_object)

_selector_of(text) := json.unmarshal(text)

# METADATA
# description: The labels of an object of a type, with the labels that the API server adds.
labels_of(type, name, labels_in_metadata) := lookup.namespace_labels(name) if {
	type == "core/Namespace"
} else := labels_in_metadata if {
	is_object(labels_in_metadata)
} else := {}
