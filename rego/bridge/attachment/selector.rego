package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The objects that a selector of a policy selects, as refs in the order of their names, as if the policy named each. A
#   cluster-scoped policy selects cluster-scoped objects.
selected_refs(policy_key, type, text) := [object_ref(concat("/", [type, namespace, name])) |
	namespace := keys.parse(policy_key).namespace
	selected := {name |
		some name, obj in lookup.objects_in(type, namespace)
		_selects(text, _labels(type, name, object.get(obj.metadata, "labels", {})))
	}
	some name in sort(selected)
]

# METADATA
# description: A ref to a whole object.
object_ref(object_key) := {"object": object_key, "section": "", "key": object_key}

# What a selector selects by, as its text, selects these labels, which many objects share: OPA decides once for all of them.
_selects(text, labels) if hierarchy.selects(_parsed(text), labels)

_parsed(text) := json.unmarshal(text)

_labels(type, name, written) := hierarchy.namespace_labels(name) if {
	type == "core/Namespace"
} else := written if {
	is_object(written)
} else := {}

# METADATA
# description: |
#   The policies of a kind that select an object, or of all kinds. The cost is that of the selectors for such objects in
#   their namespace, and nothing where there are none.
selecting(object_key) := {policy |
	parts := keys.parse(object_key)
	labels := _labels(parts.type, parts.name, object.get(lookup.get(object_key).metadata, "labels", {}))
	some [policy, text] in index.selecting(parts.namespace, parts.type)
	_selects(text, labels)
}

# METADATA
# description: The policies of any kind that name an object or a section of it, or select it.
targeting(object_key) := index.targeting(object_key) | selecting(object_key)

# METADATA
# description: Why a selector of a policy can select nothing, whatever there is (semantics T2, T3).
selector_invalid(policy_key, type) := sprintf("%s cannot target a %s", [keys.parse(policy_key).kind, split(type, "/")[1]]) if {
	not kinds.may_target(keys.parse(policy_key).type, type)
} else := sprintf("A policy in a namespace selects there; a %s is cluster-scoped", [split(type, "/")[1]]) if {
	keys.parse(policy_key).namespace != "-"
	hierarchy.cluster_scoped(type)
} else := sprintf("A cluster-scoped policy selects cluster-scoped objects; a %s is in a namespace", [split(type, "/")[1]]) if {
	keys.parse(policy_key).namespace == "-"
	levels.by_type[type]
	not hierarchy.cluster_scoped(type)
}
