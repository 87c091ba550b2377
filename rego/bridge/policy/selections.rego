package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: In place of a namespace, the namespaces of all objects that a selector may select.
any_namespace := "*"

# METADATA
# description: |
#   What selects the targets of a policy object of a type, `{place, namespace, type, text}`: spec.targetSelectors, and the fields
#   that the `selectors` of its kind name (semantics T1, T8). `namespace` is where the objects are, or `any_namespace`; one with a
#   flaw has `{place, flaw}`.
selectors(type, obj) := index.target_selectors(obj) if {
	not kinds.has_selectors(type)
} else := array.concat(index.target_selectors(obj), field_selectors(type, obj))

# METADATA
# description: |
#   Those by fields alone. A policy that names targets is not selected by its fields, and one that has neither, nor targetSelectors, selects all that the
#   first of its kind's `selectors` could (semantics T8).
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
	about := {"place": entry.place, "byField": true, "namespace": _namespace_of(type, obj), "text": _text_of(obj, entry, value)}
	some selected in entry.types
] if {
	_text_of(obj, entry, value)
} else := [{"place": entry.place, "byField": true, "flaw": message}] if {
	message := sprintf("%s must be labels, or a selector of labels (matchLabels, matchExpressions)", [entry.place])
}

# What a policy selects by, one text for one meaning; undefined where a field has another shape.
_text_of(obj, entry, value) := json.marshal(object.union_n([
	index.label_selector(value),
	{"by": entry.by, "namespaces": _namespaces_of(obj, entry)},
	entry.gateways,
]))

_namespaces_of(_, entry) := {} if not entry.namespaces

_namespaces_of(obj, entry) := index.label_selector(object.get(obj, entry.namespaces, {}))

# A policy selects in its own namespace; one of the root namespace, or without a namespace, in all.
_namespace_of(type, obj) := any_namespace if {
	object.get(obj.metadata, "namespace", "") == ""
} else := any_namespace if {
	kinds.is_root_namespace(type, obj.metadata.namespace)
} else := obj.metadata.namespace

# METADATA
# description: What selects the targets of a replicated policy, see `selectors`.
selectors_of(policy_key) := [] if {
	excess(policy_key)
} else := selectors(keys.type_of(policy_key), lookup.get(policy_key))

# METADATA
# description: |
#   Some policy of a kind may select its targets by labels.
may_select(policy_kind) if {
	index.has_selecting_policies(policy_kind)
} else if {
	_changed_selections[policy_kind]
} else := false

# METADATA
# description: |
#   The policies that select objects of a type in a namespace (`-` for cluster-scoped ones, or `any_namespace`), as [policy, what it
#   selects by], whatever they select.
policies_selecting(namespace, type) := index.policies_selecting(namespace, type) | {[policy, text] |
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
	selections := selections_by_field(policy_kind, obj)
	count(selections) > 0
}

# METADATA
# description: What a policy object of a kind selects by fields, each as `[namespace, type, text]`, as the index has it.
selections_by_field(type, obj) := {[selector.namespace, selector.type, selector.text] |
	some selector in field_selectors(type, obj)
	not selector.flaw
}

# METADATA
# description: The entries in the index of a policy object, with those that follow from its kind.
entries(obj) := index.entries(obj) | index.selection_entries(type, selections_by_field(type, obj)) if {
	type := keys.type(obj.apiVersion, obj.kind)
}

# METADATA
# description: |
#   What a policy object of a kind declares, as `index.links_of_type` has it, with what it selects by fields and its facts.
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
#   How wide a policy object of a kind selects, from the widest: all namespaces or one, everything there or what has labels; the
#   last for one that names its targets (semantics T8).
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
		index.label_selector(object.get(obj, entry.segments, {})) == {"matchLabels": {}, "matchExpressions": []}
	}
}
