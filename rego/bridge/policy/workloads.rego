package bridge.policy

import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# METADATA
# description: |
#   A selector, as its text, selects an object by its labels or by those of its workloads.
selects_object(text, object_key) if {
	selector := _selector_of(text)
	selects(text, _labels_for(object.get(selector, "by", "Objects"), object_key))
	_admits_namespace(selector, keys.parse(object_key).namespace)
	not _is_left_out(selector, object_key)
}

# A Gateway of a class, or of a class of another controller, for which the kind's policies do not count. A class that does not exist
# has no other controller (semantics P8).
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
#   The labels that every workload of an object has, as far as the object itself says: those by which a Service selects its Pods, and
#   those that Gateway API gives the Pods of a Gateway (GEP-1762, GEP-1867). Undefined where it says none: Pods are not replicated.
workload_labels("core/Service", service) := service.spec.selector if {
	is_object(service.spec.selector)
	count(service.spec.selector) > 0
}

workload_labels("gateway.networking.k8s.io/Gateway", gateway) := object.union(_infrastructure_labels(gateway), {
	"gateway.networking.k8s.io/gateway-name": gateway.metadata.name,
	"gateway.networking.k8s.io/gateway-class-name": object.get(gateway.spec, "gatewayClassName", ""),
})

_infrastructure_labels(gateway) := gateway.spec.infrastructure.labels if {
	is_object(gateway.spec.infrastructure.labels)
} else := {}

# METADATA
# description: |
#   A selector, as its text, selects objects with these labels. Many objects share their labels, so that OPA decides once for them.
selects(text, labels_of_object) if labels.selects(_selector_of(text), labels_of_object)

_selector_of(text) := json.unmarshal(text)

# METADATA
# description: The labels of an object of a type, with those that the API server gives.
labels_of(type, name, labels_in_metadata) := lookup.namespace_labels(name) if {
	type == "core/Namespace"
} else := labels_in_metadata if {
	is_object(labels_in_metadata)
} else := {}
