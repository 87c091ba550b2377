package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: Replaces a namespace if a selector may select objects of all namespaces.
any_namespace := "*"

# METADATA
# description: |
#   The selectors of a policy object of a type, `{place, namespace, type, text}`: spec.targetSelectors, and the fields that the
#   `selectors` of its kind name (semantics T1, T8). `namespace` is the namespace of the objects, or `any_namespace`. An invalid
#   selector has `{place, flaw}`.
selectors(type, obj) := index.target_selectors(obj) if {
	not kinds.has_selectors(type)
} else := array.concat(index.target_selectors(obj), field_selectors(type, obj))

# METADATA
# description: |
#   The selectors in fields only. The fields of a policy that names targets do not select. A policy without targets, fields and
#   targetSelectors selects everything that the first of its kind's `selectors` can select (semantics T8).
field_selectors(type, obj) := [] if {
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

# The selector of a policy, as one text for one meaning; undefined if a field has another type. The default of a namespace acts at all
# of its Gateways.
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

# A policy selects in its own namespace; a policy of the root namespace, or without a namespace, in all namespaces, but with
# `namespaceDefault` only if it selects everything.
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

# METADATA
# description: The selectors of a replicated policy, see `selectors`.
selectors_of(policy_key) := [] if {
	excess(policy_key)
} else := selectors(keys.type_of(policy_key), lookup.get(policy_key))

# METADATA
# description: |
#   A policy selects its targets by fields of its kind, and names none. Costs nothing of what it selects.
selects_by_fields(policy_key) if {
	kinds.has_selectors(keys.type_of(policy_key))
	count(named_refs(policy_key)) == 0
} else := false

# METADATA
# description: The selectors in fields of a policy object of a kind, as `[namespace, type, text]`, as in the index.
selections_by_field(type, obj) := {[selector.namespace, selector.type, selector.text] |
	some selector in field_selectors(type, obj)
	not selector.flaw
}

# METADATA
# description: The index entries of a policy object, with those that follow from its kind.
entries(obj) := index.entries(obj) | index.selection_entries(type, selections_by_field(type, obj)) if {
	type := keys.type(obj.apiVersion, obj.kind)
}

# METADATA
# description: |
#   The links of a policy object of a kind, as in `index.links_of_type`, with its selectors in fields and its facts.
declared_by(type, obj) := object.union(declared, {"facts": facts_of_policy | facts_of_policy := facts_of(obj)}) if {
	not kinds.has_selectors(type)
	declared := index.links_of_type(type, obj)
} else := object.union_n([
	declared,
	{"selectors": selections | selections := object.get(declared, "selectors", set()) | selections_by_field(type, obj); count(selections) > 0},
	{"facts": facts_of_policy | facts_of_policy := facts_of(obj)},
]) if {
	declared := index.links_of_type(type, obj)
}

# METADATA
# description: |
#   The width of a policy object's selector, from the widest: all namespaces or one, all objects or objects with labels. A policy
#   that names its targets comes last (semantics T8).
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
