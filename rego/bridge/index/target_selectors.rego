package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The selectors of a policy object, `{place, namespace, type, text}`: each entry of spec.targetSelectors refers to every
#   object of its kind in the policy's own namespace whose labels it selects (semantics T1). `text` is the selector in a
#   canonical form. An invalid one is `{place, flaw}`.
target_selectors(policy) := [entry |
	some number, raw in policy.spec.targetSelectors
	entry := _selector_entry(keys.namespace_name(object.get(policy.metadata, "namespace", "")), sprintf("spec.targetSelectors[%d]", [number]), raw)
] if {
	is_array(policy.spec.targetSelectors)
} else := []

_selector_entry(namespace, place, raw) := {"place": place, "flaw": message} if {
	message := selector_flaw(place, raw)
} else := {"place": place, "namespace": namespace, "type": type, "text": text} if {
	fields := {field: value | some field, value in raw; value != null}
	type := concat("/", [keys.group_name(object.get(fields, "group", "")), fields.kind])
	text := json.marshal({
		"matchLabels": object.get(fields, "matchLabels", {}),
		"matchExpressions": object.get(fields, "matchExpressions", []),
	})
}
