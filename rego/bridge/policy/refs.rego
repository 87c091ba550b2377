package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
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
	not may_select(keys.type_of(policy_key))
} else := array.concat(named_refs(policy_key), [ref |
	some selector in selectors_of(policy_key)
	some ref in selected_refs(selector.namespace, selector.type, selector.text)
])

# METADATA
# description: |
#   The refs of a policy to one object, those that name the object or a section of it and, where a policy `selects` it, one that
#   does not. Costs nothing of what else the policy selects.
refs_on(policy_key, object_key, is_selected) := [ref | some ref in named_refs(policy_key); ref.object == object_key] if {
	not is_selected
} else := array.concat(
	[ref | some ref in named_refs(policy_key); ref.object == object_key],
	[selected_ref(policy_key, object_key)],
)

# METADATA
# description: |
#   The objects of a type that a selector selects in a namespace (`-` for cluster-scoped ones, or `any_namespace`), as refs in the
#   order of their keys, as if a policy named each.
selected_refs(namespace, type, text) := [object_ref(key) |
	some key in sort(_selected_in(namespace, type, text))
] if {
	namespace != any_namespace
} else := [object.union(object_ref(key), {"anywhere": true}) |
	some key in sort({key |
		some found_namespace in lookup.namespaces_of(type)
		some key in _selected_in(found_namespace, type, text)
	})
]

_selected_in(namespace, type, text) := {key |
	some name, _ in lookup.objects_in(type, namespace)
	key := concat("/", [type, namespace, name])
	selects_object(text, key)
}

# METADATA
# description: The ref of a policy to an object that it selects; see `selected_refs`.
selected_ref(policy_key, object_key) := object_ref(object_key) if {
	keys.parse(policy_key).namespace == keys.parse(object_key).namespace
	not kinds.is_root_namespace(keys.type_of(policy_key), keys.parse(policy_key).namespace)
} else := object.union(object_ref(object_key), {"anywhere": true}) if {
	keys.parse(object_key).namespace != "-"
} else := object_ref(object_key)

# METADATA
# description: A ref to a whole object.
object_ref(object_key) := {"object": object_key, "section": "", "key": object_key}
