package bridge.attachment

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy

# METADATA
# description: |
#   The verdicts on a policy's selectors, one for each object that no ref and no earlier selector names (semantics T4).
#   A selector that selects nothing, or is invalid, has its own verdict. What a field of the policy's kind selects need not be an object
#   that the bridge knows: where it selects none, the policy is accepted (T8).
selector_verdicts(policy_key) := found if {
	all_selectors := policy.selectors_of(policy_key)
	found := [verdict_on_one |
		some position, selector in all_selectors
		earlier := array.slice(all_selectors, 0, position)
		some verdict_on_one in _verdicts_on_selector(policy_key, selector, earlier)
	]
	_suffices(all_selectors, found)
} else := [{"ref": policy.object_ref(policy_key), "reason": "Accepted", "message": "Policy has been accepted"}]

# METADATA
# description: |
#   A policy selects its targets by fields of its kind only, and each that it selects is accepted. Costs nothing of what it
#   selects: a policy for a whole mesh has as many targets as the cluster has workloads (semantics T8).
accepts_all(policy_key) if {
	policy.selects_by_fields(policy_key)
	not policy_problem(policy_key)
	policy_kind := keys.type_of(policy_key)
	not kinds.get(policy_kind).sameLevel in {"Conflict", "ConflictOnOverlap"}
	not kinds.has_namespace_defaults(policy_kind)
	every selector in policy.selectors_of(policy_key) {
		selector.byField
		not selector.flaw
		not policy.selector_problem(policy_key, selector)
		not kinds.depends_on_ports(policy_kind, selector.type)
	}
} else := false

_suffices(_, found) if count(found) > 0

_suffices(all_selectors, _) if {
	every selector in all_selectors {
		not selector.byField
	}
}

_verdicts_on_selector(policy_key, selector, earlier) := [invalid_verdict(policy_key, message)] if {
	message := _selector_problem(policy_key, selector)
} else := [verdict_of_none] if {
	not selector.byField
	count(policy.selected_refs(selector.namespace, selector.type, selector.text)) == 0
	verdict_of_none := {"ref": policy.object_ref(policy_key), "reason": "TargetNotFound", "message": _selects_nothing(policy_key, selector)}
} else := [object.union({"ref": ref}, verdict(policy_key, ref)) |
	seen := _keys_of(policy.named_refs(policy_key)) | {key |
		some other in earlier
		some key in _keys_of(policy.selected_refs(other.namespace, other.type, other.text))
	}
	some ref in policy.selected_refs(selector.namespace, selector.type, selector.text)
	not ref.key in seen
]

_keys_of(refs_given) := {ref.key | some ref in refs_given}

_selector_problem(policy_key, selector) := policy_problem(policy_key) if {
	true
} else := selector.flaw if {
	true
} else := sprintf("%s: %s", [selector.place, policy.selector_problem(policy_key, selector)])

_selects_nothing(policy_key, selector) := sprintf("%s selects nothing: no %s in namespace %s has such labels", [
	selector.place,
	split(selector.type, "/")[1],
	keys.parse(policy_key).namespace,
]) if {
	keys.parse(policy_key).namespace != "-"
} else := sprintf("%s selects nothing: no %s has such labels", [selector.place, split(selector.type, "/")[1]])
