package bridge.index

import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels

# The target refs of a policy object in order: spec.targetRefs, or the singular spec.targetRef or spec.targetReference (semantics T1). `key` is
# the declared target as written, `class` the historic className, if the ref has one. Refs that cannot name any object
# are omitted; `ref_flaw` gives the reason.
target_refs(policy) := [ref |
	namespace := object.get(policy.metadata, "namespace", "")
	some raw in raw_refs(policy)
	ref := target_ref(namespace, raw)
]

target_ref(own_namespace, raw) := object.union(ref, {"class": class | class != ""}) if {
	written := {field: value | some field, value in raw; value != null}
	no_names := {"group": "", "kind": "", "namespace": "", "name": "", "sectionName": "", "className": ""}
	named := object.filter(object.union(no_names, written), _text_fields)
	{"group": group, "kind": kind, "namespace": namespace, "name": name, "sectionName": section, "className": class} = named
	group != "core"
	regex.match(_form, concat("#", [group, kind, namespace, name, section, class]))
	target := keys.format(group, kind, _ref_namespace(own_namespace, group, kind, namespace), name)
	ref := {"object": target, "section": section, "key": trim_suffix(keys.section(target, section), "#")}
}

# What `ref_flaw` admits besides the group `core`, in one match: strings without separators of keys, and a kind and a name.
_form := `^([^/#@][^#@]*)?#[^/#@]+#[^/#@]*#[^/#@]+#[^#@]*#[^#@]*$`

# The refs of a policy as written. A ref with `sectionNames`, a list, is one ref for each section.
raw_refs(policy) := refs if {
	refs := _written_refs(policy)
	not _names_sections(refs)
} else := [one | some raw in _written_refs(policy); some one in _by_section(raw)]

_names_sections(refs) if refs[_].sectionNames

_written_refs(policy) := policy.spec.targetRefs if {
	is_array(policy.spec.targetRefs)
	count(policy.spec.targetRefs) > 0
} else := [_with_listeners(implementations.ref_as_read(policy, policy.spec.targetRef))] if {
	policy.spec.targetRef != null
} else := [_with_kind(policy.spec.targetReference)] if {
	policy.spec.targetReference != null
}

# A form of Application Gateway for Containers: `gateway` is the name of a Gateway, `listeners` are sections of it.
_with_listeners(raw) := object.union(object.remove(raw, ["gateway", "listeners"]), {"name": object.get(raw, "gateway", raw.name), "sectionNames": raw.listeners}) if {
	is_array(raw.listeners)
} else := raw

# The AWS Load Balancer Controller's form: a Service, unless it names another kind.
_with_kind(raw) := object.union({"group": "", "kind": "Service"}, raw) if {
	is_object(raw)
} else := raw

_by_section(raw) := [object.union(object.remove(raw, ["sectionNames"]), {"sectionName": name}) | some name in raw.sectionNames] if {
	is_array(raw.sectionNames)
	count(raw.sectionNames) > 0
} else := [raw]

# A ref without a namespace names an object of the policy's own namespace, or a cluster-scoped one.
_ref_namespace(own_namespace, group, kind, namespace) := namespace if {
	namespace != ""
} else := "" if {
	concat("/", [keys.group_name(group), kind]) in levels.cluster_scoped
} else := own_namespace

# Why a ref cannot name any object, with its place in the policy; undefined if it can. Such a ref is Invalid by itself,
# and the policy's other refs count (semantics T2, T4).
ref_flaw(place, raw) := sprintf("%s is not an object", [place]) if {
	not is_object(raw)
} else := sprintf("%s.%s is missing or empty", [place, absent[0]]) if {
	absent := [field | some field in ["kind", "name"]; object.get(raw, field, "") in {"", null}]
	count(absent) > 0
} else := sprintf("%s.%s is not a string", [place, odd[0]]) if {
	odd := [field | some field in _text_fields; not is_string(object.get(raw, field, "")); raw[field] != null]
	count(odd) > 0
} else := sprintf("%s.%s: %q is not a valid name", [place, odd[0], raw[odd[0]]]) if {
	odd := [field | some field in _text_fields; is_string(raw[field]); regex.match(_marks(field), raw[field])]
	count(odd) > 0
} else := sprintf("%s.group: no API has the group core: write \"\" for %s", [place, raw.kind]) if {
	raw.group == "core"
}

_text_fields := ["group", "kind", "namespace", "name", "sectionName", "className"]

# The separators of keys, which would make it another key. A group may have a version.
_marks(field) := `[/#@]` if {
	field in {"kind", "namespace", "name"}
} else := `[#@]|^/`

# The selectors of a policy object, `{place, namespace, type, text}`: each entry of spec.targetSelectors refers to every
# object of its kind whose labels it selects, in the policy's own namespace or (`*`) in those that it selects (semantics
# T1). `text` is the selector in a canonical form. An invalid one is `{place, flaw}`.
target_selectors(policy) := [entry |
	some number, raw in policy.spec.targetSelectors
	entry := _selector_entry(keys.namespace_name(object.get(policy.metadata, "namespace", "")), sprintf("spec.targetSelectors[%d]", [number]), raw)
] if {
	is_array(policy.spec.targetSelectors)
} else := []

_selector_entry(own_namespace, place, raw) := {"place": place, "flaw": message} if {
	message := _selector_flaw(place, raw)
} else := {"place": place, "namespace": namespace, "type": type, "text": text} if {
	fields := {field: value | some field, value in raw; value != null}
	type := concat("/", [keys.group_name(object.get(fields, "group", "")), fields.kind])
	from := object.get(fields, ["namespaces", "from"], "Same")
	namespace := object.get({"Same": own_namespace}, from, "*")
	of_namespaces := {"namespaces": label_selector(fields.namespaces.selector) | from == "Selector"}
	text := json.marshal(object.union(label_selector(object.filter(fields, ["matchLabels", "matchExpressions"])), of_namespaces))
}

# Why an entry of spec.targetSelectors is not a valid selector, with its place in the policy; undefined if it is valid.
# It has group, kind, matchLabels and matchExpressions as in a LabelSelector of Kubernetes, `namespaces` as Envoy Gateway,
# and selects whole objects: it has neither sectionName nor namespace (semantics T1, T2).
_selector_flaw(place, raw) := sprintf("%s is not an object", [place]) if {
	not is_object(raw)
} else := ref_flaw(place, object.union(raw, {"name": "-"})) if {
	true
} else := sprintf("%s.%s: a selector has only %s", [place, unknown[0], concat(", ", _selector_fields)]) if {
	unknown := sort([field | some field, value in raw; value != null; not field in _selector_fields])
	count(unknown) > 0
} else := sprintf("%s.matchLabels must be a map of strings", [place]) if {
	not _is_labels(raw)
} else := sprintf("%s.matchExpressions must be a list of {key, operator, values}", [place]) if {
	not _is_expressions(raw)
} else := sprintf("%s.namespaces must be {from: Same}, {from: All} or {from: Selector, selector}", [place]) if {
	not _is_namespaces(object.get(raw, "namespaces", null))
}

_is_namespaces(null)
_is_namespaces(value) if object.get(value, "from", "Same") in {"Same", "All"}

_is_namespaces(value) if label_selector({"Selector": value.selector}[value.from])

# A value of a policy as a LabelSelector of Kubernetes, `{matchLabels, matchExpressions}`: one that is a LabelSelector,
# or labels alone. Undefined for another.
label_selector(value) := {
	"matchLabels": object.get(fields, "matchLabels", {}),
	"matchExpressions": object.get(fields, "matchExpressions", []),
} if {
	is_object(value)
	fields := {field: inner | some field, inner in value; inner != null}
	object.keys(value) - {"matchLabels", "matchExpressions"} == set()
	_is_labels(value)
	_is_expressions(value)
} else := {"matchLabels": value, "matchExpressions": []} if {
	is_object(value)
	every text in value {
		is_string(text)
	}
}

_selector_fields := ["group", "kind", "matchLabels", "matchExpressions", "namespaces"]

_is_labels(raw) if {
	object.get(raw, "matchLabels", null) == null
} else if {
	is_object(raw.matchLabels)
	every value in raw.matchLabels {
		is_string(value)
	}
}

_is_expressions(raw) if {
	object.get(raw, "matchExpressions", null) == null
} else if {
	is_array(raw.matchExpressions)
	every expression in raw.matchExpressions {
		is_string(expression.key)
		_is_operation(expression)
	}
}

_is_operation(expression) if {
	expression.operator in {"Exists", "DoesNotExist"}
} else if {
	expression.operator in {"In", "NotIn"}
	is_array(expression.values)
	count(expression.values) > 0
}

# The declarations of a policy, as fields of `links`. Every object with target refs has them, so a new PolicyKind
# relinks nothing.
target_links(obj) := {} if {
	not is_object(obj.spec)
} else := {} if {
	object.filter(obj.spec, target_fields) == {}
} else := {"oversized": _oversized(obj, excess(obj))} if {
	true
} else := object.union_n([
	{"targets": targets | targets := {ref.key | some ref in refs}; count(targets) > 0},
	{"classes": true | refs[_].class},
	{"selectors": selectors |
		selectors := selections(target_selectors(obj))
		count(selectors) > 0
	},
]) if {
	refs := target_refs(obj)
}

selections(selectors) := {[selector.namespace, selector.type, selector.text] | some selector in selectors; not selector.flaw}

# A policy above a bound has no effect (semantics T6). It is stored at itself, and at its first targets; if it may have
# others, at its namespace.
_oversized(obj, message) := {"message": message, "objects": (({keys.of(obj)} | {keys.format("", "Namespace", "", namespace) |
	_names_others(obj)
	namespace != ""
}) | {ref.object |
	some raw in array.slice(raw_refs(obj), 0, _first_refs)
	ref := target_ref(namespace, raw)
})} if {
	namespace := object.get(obj.metadata, "namespace", "")
}

_first_refs := 16

_names_others(obj) if count(raw_refs(obj)) > _first_refs

_names_others(obj) if obj.spec.targetSelectors

# The fields of a spec that name targets. Most objects have none of them, and are not read further.
target_fields := ["targetRefs", "targetRef", "targetReference", "targetSelectors"]

ref_fields := [field | some field in target_fields; not field in selector_fields]

selector_fields := ["targetSelectors"]

# The bounds on policies, `{leaves, depth, targetRefs, size}` (semantics T6): the settings `policy_max_…`, which are in
# the bundle as `data.bridge_settings.bounds`.
bounds := object.union(_default_bounds, data.bridge_settings.bounds) if {
	true
} else := _default_bounds

_default_bounds := {"leaves": 3000, "depth": 64, "targetRefs": 256, "size": 262144}

# The maximum number of entries of `spec.targetSelectors`. Each is compared with those before it.
_selector_bound := 16

# The bound that a policy object exceeds, with its count, as a message; undefined if it exceeds none (semantics T6).
# Each step is linear in the JSON text and traverses no value, because tenants choose the size of the object.
excess(policy) := message if {
	message := _excess(policy)
	message != ""
}

# The same, empty if there is none: OPA remembers only results that are defined.
_excess(policy) := _message("targetRefs", count(policy.spec.targetRefs), bounds.targetRefs) if {
	is_array(policy.spec.targetRefs)
	count(policy.spec.targetRefs) > bounds.targetRefs
} else := _message("sections of targets", count(raw_refs(policy)), bounds.targetRefs) if {
	_names_sections(_written_refs(policy))
	count(raw_refs(policy)) > bounds.targetRefs
} else := _message("targetSelectors", count(policy.spec.targetSelectors), _selector_bound) if {
	is_array(policy.spec.targetSelectors)
	count(policy.spec.targetSelectors) > _selector_bound
} else := _message("characters of JSON", count(_text(policy)), bounds.size) if {
	count(_text(policy)) > bounds.size
} else := _message("values", _leaves(_text(policy)), bounds.leaves) if {
	strings.count(_text(policy), ",") >= bounds.leaves
	_leaves(_text(policy)) > bounds.leaves
} else := sprintf("Policy is nested deeper than %d levels, the bound on a policy's depth", [bounds.depth]) if {
	strings.count(_text(policy), "{") + strings.count(_text(policy), "[") > bounds.depth
	_deeper(object.remove(policy, _not_counted), bounds.depth)
} else := ""

_message(what, number, bound) := sprintf("Policy has %d %s; at most %d are allowed", [number, what, bound])

# Only the spec counts; metadata and status have no effect on a policy.
_not_counted := ["apiVersion", "kind", "metadata", "status"]

_text(policy) := json.marshal(object.remove(policy, _not_counted))

# JSON text has one more value than commas, not counting the objects and lists that contain others.
_leaves(text) := strings.count(regex.replace(text, `"(?:[^"\\]|\\.)*"`, ""), ",") + 1

# OPA stops at the first path that is too long.
_deeper(value, bound) if {
	walk(value, [path, _])
	count(path) > bound
}
