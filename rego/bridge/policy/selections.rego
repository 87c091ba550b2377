package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# Replaces a namespace if a selector may select objects of all namespaces.
any_namespace := "*"

# The selectors of a policy object of a type, `{place, namespace, type, text}`: spec.targetSelectors, and the fields
# that the `selectors` of its kind name (semantics T1, T8). `namespace` is the namespace of the objects, or
# `any_namespace`. An invalid selector has `{place, flaw}`.
_selectors(type, obj) := array.concat(_target_selectors(type, obj), _field_selectors(type, obj))

# Those of a policy of the root namespace select in all namespaces.
_target_selectors(type, obj) := [object.union(selector, {"namespace": any_namespace | selector.type}) | some selector in index.target_selectors(obj)] if {
	kinds.is_root_namespace(type, object.get(obj.metadata, "namespace", ""))
} else := index.target_selectors(obj)

# The selectors in fields only. The fields of a policy that names targets do not select. A policy without targets,
# fields and targetSelectors selects everything that the first of its kind's `selectors` can select (semantics T8).
_field_selectors(type, obj) := [] if {
	not kinds.has_selectors(type)
} else := [] if {
	count(index.raw_refs(obj)) > 0
} else := [] if {
	index.excess(obj)
} else := array.flatten([_by_field(type, obj, entry, object.get(obj, entry.segments, null)) |
	some entry in kinds.get(type).selectors
	object.get(obj, entry.segments, null) != null
]) if {
	_has_field(type, obj)
} else := [] if {
	obj.spec.targetSelectors[0]
} else := _by_field(type, obj, kinds.get(type).selectors[0], {})

_has_field(type, obj) if {
	some entry in kinds.get(type).selectors
	object.get(obj, entry.segments, null) != null
}

_by_field(type, obj, entry, value) := [object.union(about, {"type": selected}) |
	about := {"place": entry.place, "byField": true, "namespace": _namespace_of(type, obj, entry, value), "text": _text_of(obj, entry, value)}
	some selected in entry.types
] if {
	_text_of(obj, entry, value)
} else := [{"place": entry.place, "byField": true, "flaw": message}] if {
	message := sprintf("%s must be labels, or a selector of labels (matchLabels, matchExpressions)", [entry.place])
}

# The selector of a policy, as one text for one meaning; undefined if a field has another type. The default of a
# namespace acts at all of its Gateways.
_text_of(obj, entry, value) := json.marshal(object.union_n([
	index.label_selector(value),
	{"by": entry.by, "namespaces": _namespaces_of(obj, entry)},
	{field: names | some field, names in entry.gateways; not _is_ignored(field, entry, value)},
]))

_is_ignored("exceptClasses", entry, value) if {
	entry.namespaceDefault
	_is_empty(value)
}

_namespaces_of(_, entry) := {} if not entry.namespaces
_namespaces_of(obj, entry) := index.label_selector(object.get(obj, entry.namespaces, {}))

# A policy selects in its own namespace; a policy of the root namespace, or without a namespace, in all namespaces, but
# with `namespaceDefault` only if it selects everything.
_namespace_of(type, obj, entry, value) := any_namespace if {
	object.get(obj.metadata, "namespace", "") == ""
} else := any_namespace if {
	kinds.is_root_namespace(type, obj.metadata.namespace)
	not _is_narrow_default(entry, value)
} else := obj.metadata.namespace

_is_narrow_default(entry, value) if {
	entry.namespaceDefault
	not _is_empty(value)
}

_is_empty(value) if index.label_selector(value) == {"matchLabels": {}, "matchExpressions": []}

selectors_of(policy_key) := [] if {
	excess(policy_key)
} else := _selectors(keys.type_of(policy_key), lookup.get(policy_key))

# A policy selects its targets by fields of its kind, and names none. Costs nothing of what it selects.
selects_by_fields(policy_key) if {
	kinds.has_selectors(keys.type_of(policy_key))
	count(named_refs(policy_key)) == 0
} else := false

# What a policy object of a kind selects by the description of the kind, as `[namespace, type, text]`, as in the index: by
# fields, or from the root namespace. The index layer itself knows no kinds.
_selections_by_kind(type, obj) := set() if {
	kind := kinds.get(type)
	not kind.traits.selecting
	not kind.rootNamespace
} else := index.selections(_field_selectors(type, obj)) | index.selections([selector |
	some selector in _target_selectors(type, obj)
	selector.namespace == any_namespace
])

# The index entries of a policy object, with those that follow from its kind.
entries(obj) := index.entries(obj) | index.selection_entries(type, _selections_by_kind(type, obj)) if {
	type := keys.type(obj.apiVersion, obj.kind)
}

# The links of a policy object of a kind, as in `index.links_of_type`, with its selectors in fields and its facts.
declared_by(type, obj) := object.union_n([
	declared,
	{"selectors": selections | selections := object.get(declared, "selectors", set()) | _selections_by_kind(type, obj); count(selections) > 0},
	{"facts": facts_of_policy | facts_of_policy := facts_of(obj)},
]) if declared := index.links_of_type(type, obj)

# The width of a policy object's selector, from the widest: all namespaces or one, all objects or objects with labels. A
# policy that names its targets comes last (semantics T8).
breadth(type, obj) := (2 * _in_one_namespace(type, obj)) + _by_labels(type, obj)

_in_one_namespace(type, obj) := 0 if {
	kinds.is_root_namespace(type, object.get(obj.metadata, "namespace", ""))
} else := 1

_by_labels(type, obj) := 1 if {
	count(index.raw_refs(obj)) > 0
} else := 1 if {
	_has_field(type, obj)
	not _selects_everything(type, obj)
} else := 1 if {
	not _has_field(type, obj)
	obj.spec.targetSelectors[0]
} else := 0

_selects_everything(type, obj) if {
	every entry in kinds.get(type).selectors {
		_is_empty(object.get(obj, entry.segments, {}))
	}
}

may_select(policy_kind) := policy_kind in selecting_kinds

selecting_kinds := index.kinds_with("selecting") if {
	lookup.has_no_changes
} else := (index.kinds_with("selecting") | {kind | some kind, _ in _changed_selections}) | kinds_of_changed_bindings

# The policies that select objects of a type in a namespace (`-` for cluster-scoped ones, or `any_namespace`), as
# [policy, what it selects by], whatever they select.
policies_selecting(namespace, type) := index.policies_selecting(namespace, type) if {
	lookup.has_no_changes
} else := {[policy, text] |
	some [policy, text] in index.policies_selecting(namespace, type)
	not _is_outdated(policy)
} | {[policy, text] |
	some by_policy in _changed_selections
	some policy, selections in by_policy
	some [selected_namespace, selected_type, text] in selections
	[selected_namespace, selected_type] == [namespace, type]
}

# What the policies that the query changes select by fields of their kinds: the index layer knows no kinds.
_changed_selections[policy_kind][policy] := selections if {
	not lookup.has_no_changes
	some policy, obj in lookup.upserts
	policy_kind := keys.type_of(policy)
	selections := _selections_by_kind(policy_kind, obj)
	count(selections) > 0
}

# What the other policies of the kinds that the query changes select.
_changed_selections[policy_kind][policy] := selections if {
	some policy_kind in kinds.with_other_selectors
	some policy in lookup.keys_of(policy_kind)
	not policy in lookup.changed_keys
	selections := index.selections(_selectors(policy_kind, lookup.get(policy)))
	count(selections) > 0
}

# The index has what the policies of a changed kind selected by its previous description.
_is_outdated(policy) if {
	keys.type_of(policy) in kinds.with_other_selectors
	not policy in lookup.changed_keys
}

# A selector, as text, matches the labels of an object or of its workloads.
selects_object(text, object_key) if {
	selects_by_labels(text, object_key)
	selector := _selector_of(text)
	labels.selects(object.get(selector, "namespaces", {}), lookup.namespace_labels(keys.parse(object_key).namespace))
	not _is_left_out(selector, object_key)
}

# The labels of an object, or of its workloads, are those of a selector, whatever its Namespace and class.
selects_by_labels(text, object_key) if {
	_selects(text, _labels_for(object.get(_selector_of(text), "by", "Objects"), object_key))
}

# The labels of Namespaces decide what a selector selects.
reads_namespaces(text) if {
	some field in ["matchLabels", "matchExpressions"]
	count(object.get(_selector_of(text), ["namespaces", field], [])) > 0
} else := false

# The controllers of GatewayClasses decide what a selector selects.
reads_controllers(text) if _selector_of(text).controllers

# A Gateway of an excluded class, or of another controller's class. A class that does not exist has no other controller
# (semantics P8).
_is_left_out(selector, object_key) if {
	lookup.get(object_key).spec.gatewayClassName in selector.exceptClasses
} else if {
	class := concat("/", ["gateway.networking.k8s.io/GatewayClass/-", lookup.get(object_key).spec.gatewayClassName])
	controllers := selector.controllers
	controller := lookup.get(class).spec.controllerName
	not controller in controllers
}

_labels_for("Objects", object_key) := own_labels(parts.type, parts.name, object.get(lookup.get(object_key).metadata, "labels", {})) if {
	parts := keys.parse(object_key)
}

_labels_for("Workloads", object_key) := _workload_labels(keys.type_of(object_key), lookup.get(object_key))

# The labels that every workload of an object has, according to the object: the labels by which a Service selects its
# Pods, and the labels that Gateway API defines for the Pods of a Gateway (GEP-1762, GEP-1867). Undefined without such
# labels, because Pods are not replicated.
_workload_labels("core/Service", service) := _workload_labels_of_service(service)

_workload_labels_of_service(service) := service.spec.selector if {
	is_object(service.spec.selector)
	count(service.spec.selector) > 0
}

_workload_labels("gateway.networking.k8s.io/Gateway", gateway) := labels_of_pods if {
	# A Gateway with the address of a Service is deployed by hand: its Pods are those of the Service (Istio, "Manual
	# Deployment").
	[[_, name, namespace]] := [found[0] |
		some address in gateway.spec.addresses
		address.type == "Hostname"
		found := regex.find_all_string_submatch_n(`^([^.]+)\.([^.]+)\.svc(?:\.|$)`, address.value, 1)
	]
	labels_of_pods := _workload_labels_of_service(lookup.get(concat("/", ["core/Service", namespace, name])))
} else := object.union(object.union(_fixed_labels(gateway), _infrastructure_labels(gateway)), {
	"gateway.networking.k8s.io/gateway-name": gateway.metadata.name,
	"gateway.networking.k8s.io/gateway-class-name": object.get(gateway.spec, "gatewayClassName", ""),
	"gateway.istio.io/managed": "istio.io-gateway-controller",
}) if {
	not _has_hostname(gateway)
}

_has_hostname(gateway) if gateway.spec.addresses[_].type == "Hostname"

# The labels that Istio's template gives to the Pods of each Gateway, and that `infrastructure` may replace.
_fixed_labels(gateway) := {
	"sidecar.istio.io/inject": "false",
	"service.istio.io/canonical-name": concat("-", [gateway.metadata.name, object.get(gateway.spec, "gatewayClassName", "")]),
	"service.istio.io/canonical-revision": "latest",
}

# Istio copies a Gateway's own labels, unless the infrastructure has labels.
_infrastructure_labels(gateway) := gateway.spec.infrastructure.labels if {
	is_object(gateway.spec.infrastructure.labels)
} else := gateway.metadata.labels if {
	is_object(gateway.metadata.labels)
} else := {}

# A selector, as text, matches these labels. Many objects share their labels, so OPA evaluates them once.
_selects(text, labels_of_object) if labels.selects(_selector_of(text), labels_of_object)

_selector_of(text) := json.unmarshal(text)

# The labels of an object of a type, with the labels that the API server adds.
own_labels(type, name, labels_in_metadata) := lookup.namespace_labels(name) if {
	type == "core/Namespace"
} else := labels_in_metadata if {
	is_object(labels_in_metadata)
} else := {}
