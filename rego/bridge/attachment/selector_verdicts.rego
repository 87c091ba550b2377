package bridge.attachment

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy

# METADATA
# description: |
#   The verdicts on a policy's selectors, one for each object that no ref and no earlier selector names (semantics T4).
#   A selector that selects nothing, or is invalid, has its own verdict.
selector_verdicts(policy_key) := [found |
	all_selectors := index.target_selectors(lookup.get(policy_key))
	some position, selector in all_selectors
	earlier := array.slice(all_selectors, 0, position)
	some found in _verdicts_on_selector(policy_key, selector, earlier)
]

_verdicts_on_selector(policy_key, selector, earlier) := [invalid_verdict(policy_key, message)] if {
	message := _selector_problem(policy_key, selector)
} else := [verdict_of_none] if {
	count(policy.selected_refs(policy_key, selector.type, selector.text)) == 0
	verdict_of_none := {"ref": policy.object_ref(policy_key), "reason": "TargetNotFound", "message": _selects_nothing(policy_key, selector)}
} else := [object.union({"ref": ref}, verdict(policy_key, ref)) |
	seen := _keys_of(policy.named_refs(policy_key)) | {key |
		some other in earlier
		some key in _keys_of(policy.selected_refs(policy_key, other.type, other.text))
	}
	some ref in policy.selected_refs(policy_key, selector.type, selector.text)
	not ref.key in seen
]

_keys_of(refs_given) := {ref.key | some ref in refs_given}

_selector_problem(policy_key, selector) := policy_problem(policy_key) if {
	true
} else := selector.flaw if {
	true
} else := sprintf("%s: %s", [selector.place, policy.selector_problem(policy_key, selector.type)])

_selects_nothing(policy_key, selector) := sprintf("%s selects nothing: no %s in namespace %s has such labels", [
	selector.place,
	split(selector.type, "/")[1],
	keys.parse(policy_key).namespace,
]) if {
	keys.parse(policy_key).namespace != "-"
} else := sprintf("%s selects nothing: no %s has such labels", [selector.place, split(selector.type, "/")[1]])
