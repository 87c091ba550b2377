package bridge.attachment

import data.bridge.lookup

# METADATA
# description: |
#   Why a ref names nothing that could exist, with its place in the policy; undefined where it does. Such a ref is Invalid
#   by itself, and the policy's other refs count (semantics T2, T4).
flaw(place, raw) := sprintf("%s is no object", [place]) if {
	not is_object(raw)
} else := sprintf("%s.%s is missing or empty", [place, absent[0]]) if {
	absent := [field | some field in ["kind", "name"]; object.get(raw, field, "") in {"", null}]
	count(absent) > 0
} else := sprintf("%s.%s is no text", [place, odd[0]]) if {
	odd := [field | some field in _text_fields; not is_string(object.get(raw, field, "")); raw[field] != null]
	count(odd) > 0
} else := sprintf("%s.%s: %q is no name", [place, odd[0], raw[odd[0]]]) if {
	odd := [field | some field in _text_fields; is_string(raw[field]); regex.match(_marks(field), raw[field])]
	count(odd) > 0
}

_text_fields := ["group", "kind", "namespace", "name", "sectionName", "className"]

# A key's own marks, which would make it another key. A group may carry a version.
_marks(field) := `[/#@]` if {
	field in {"kind", "namespace", "name"}
} else := `[#@]|^/`

# METADATA
# description: |
#   Why a policy's fields that hold refs are Invalid as a whole, whatever the refs; undefined where they are not.
#   GEP-713 has targetRef in place of targetRefs, so a policy that has both does not say which it means.
stanza_flaw(policy_key) := sprintf("%s is no list", [lists[0]]) if {
	spec := lookup.get(policy_key).spec
	lists := [place |
		some field in ["targetRefs", "targetSelectors"]
		not is_array(object.get(spec, field, []))
		spec[field] != null
		place := sprintf("spec.%s", [field])
	]
	count(lists) > 0
} else := "Policy has both spec.targetRef and spec.targetRefs: one of them must go" if {
	spec := lookup.get(policy_key).spec
	count(spec.targetRefs) > 0
	spec.targetRef != null
}

# METADATA
# description: Each ref as the policy has it, with its place there, `{place, raw}`, in order.
written(policy_key) := [{"place": place, "raw": raw} |
	some index, raw in _raw_refs(lookup.get(policy_key))
	place := _ref_place(_plural(policy_key), index)
]

_ref_place(true, index) := sprintf("spec.targetRefs[%d]", [index])

_ref_place(false, _) := "spec.targetRef"

_plural(policy_key) if {
	is_array(lookup.get(policy_key).spec.targetRefs)
	count(lookup.get(policy_key).spec.targetRefs) > 0
} else := false
