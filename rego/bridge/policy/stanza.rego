package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: Why a policy object is Invalid because of its target refs as a whole; undefined if it is valid.
stanza_problem(obj) := stanza_flaw(obj) if {
	true
} else := "Policy names no target: spec.targetRefs is missing or empty" if {
	not _names_refs(obj)
	not obj.spec.targetSelectors[0]
	not kinds.has_selectors(keys.type(obj.apiVersion, obj.kind))
}

_names_refs(obj) if count(index.raw_refs(obj)) > 0

# METADATA
# description: |
#   Why the ref fields of a policy are Invalid as a whole, independent of single refs; undefined if they are valid.
#   GEP-713 has targetRef instead of targetRefs, so a policy with both is ambiguous.
stanza_flaw(obj) := sprintf("%s is not a list", [lists[0]]) if {
	spec := obj.spec
	lists := [place |
		some field in ["targetRefs", "targetSelectors"]
		not is_array(object.get(spec, field, []))
		spec[field] != null
		place := sprintf("spec.%s", [field])
	]
	count(lists) > 0
} else := "Policy has both spec.targetRef and spec.targetRefs: remove one of them" if {
	spec := obj.spec
	count(spec.targetRefs) > 0
	spec.targetRef != null
}

# METADATA
# description: Each ref as in the policy, with its place there, `{place, raw}`, in order.
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
