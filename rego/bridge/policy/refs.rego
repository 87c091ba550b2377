package bridge.policy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# METADATA
# description: |
#   The refs by name of a replicated policy; see `target_refs`. None for a policy above a bound (semantics T6).
named_refs(policy_key) := fact(policy_key, "refs") if {
	true
} else := [] if {
	excess(policy_key)
} else := index.target_refs(lookup.get(policy_key))

# METADATA
# description: All targets of a replicated policy as refs, named and selected ones.
declared_refs(policy_key) := [] if {
	excess(policy_key)
} else := named_refs(policy_key) if {
	not lookup.get(policy_key).spec.targetSelectors
} else := array.concat(named_refs(policy_key), [ref |
	some selector in index.target_selectors(lookup.get(policy_key))
	some ref in selected_refs(policy_key, selector.type, selector.text)
])

# METADATA
# description: |
#   The objects that a selector of a policy selects, as refs in the order of their names, as if the policy named each. A
#   cluster-scoped policy selects cluster-scoped objects.
selected_refs(policy_key, type, text) := [object_ref(concat("/", [type, namespace, name])) |
	namespace := keys.parse(policy_key).namespace
	selected := {name |
		some name, obj in lookup.objects_in(type, namespace)
		selects(text, labels_of(type, name, object.get(obj.metadata, "labels", {})))
	}
	some name in sort(selected)
]

# METADATA
# description: A ref to a whole object.
object_ref(object_key) := {"object": object_key, "section": "", "key": object_key}

# METADATA
# description: |
#   A selector, given as its text, selects objects with these labels. Many objects share their labels, so OPA evaluates
#   this once for them.
selects(text, labels_of_object) if labels.selects(_selector_of(text), labels_of_object)

_selector_of(text) := json.unmarshal(text)

# METADATA
# description: The labels of an object of a type, including those that the API server adds.
labels_of(type, name, labels_in_metadata) := lookup.namespace_labels(name) if {
	type == "core/Namespace"
} else := labels_in_metadata if {
	is_object(labels_in_metadata)
} else := {}
