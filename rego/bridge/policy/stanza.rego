package bridge.policy

import data.bridge.index
import data.bridge.lookup

# METADATA
# description: Why a policy object is Invalid by its target refs as a whole; undefined where it is not.
stanza_problem(obj) := stanza_flaw(obj) if {
	true
} else := "Policy names no target: spec.targetRefs is missing or empty" if {
	not _names_refs(obj)
	not obj.spec.targetSelectors[0]
}

_names_refs(obj) if count(index.raw_refs(obj)) > 0

# METADATA
# description: |
#   Why a policy's fields that hold refs are Invalid as a whole, whatever the refs; undefined where they are not.
#   GEP-713 has targetRef in place of targetRefs, so a policy that has both does not say which it means.
stanza_flaw(obj) := sprintf("%s is no list", [lists[0]]) if {
	spec := obj.spec
	lists := [place |
		some field in ["targetRefs", "targetSelectors"]
		not is_array(object.get(spec, field, []))
		spec[field] != null
		place := sprintf("spec.%s", [field])
	]
	count(lists) > 0
} else := "Policy has both spec.targetRef and spec.targetRefs: one of them must go" if {
	spec := obj.spec
	count(spec.targetRefs) > 0
	spec.targetRef != null
}

# METADATA
# description: Each ref as the policy has it, with its place there, `{place, raw}`, in order.
refs_with_places(policy_key) := [{"place": place, "raw": raw} |
	some number, raw in index.raw_refs(lookup.get(policy_key))
	place := _ref_place(_plural(policy_key), number)
]

_ref_place(true, number) := sprintf("spec.targetRefs[%d]", [number])

_ref_place(false, _) := "spec.targetRef"

_plural(policy_key) if {
	is_array(lookup.get(policy_key).spec.targetRefs)
	count(lookup.get(policy_key).spec.targetRefs) > 0
} else := false
