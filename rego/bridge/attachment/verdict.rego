package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.policy

# METADATA
# description: |
#   The verdict on each ref of a policy, in its order: `{ref, reason, message}`, reason Accepted, Invalid, TargetNotFound or
#   Conflicted (GEP-713, "Status conditions"; semantics T2 to T4). Where no object can be named, the ref is the policy itself.
verdicts(policy_key) := [_invalid_verdict(policy_key, message)] if {
	message := policy.oversized(policy_key)
} else := heard if {
	namespace := keys.namespace(policy_key)
	by_name := [_verdict_on(policy_key, namespace, ref) | some ref in written(policy_key)]
	heard := array.concat(by_name, _verdicts_on_selectors(policy_key))
	count(heard) > 0
} else := [_invalid_verdict(policy_key, invalid(policy_key))]

_verdict_on(policy_key, namespace, written_ref) := object.union({"ref": ref}, verdict(policy_key, ref)) if {
	ref := index.target_ref(namespace, written_ref.raw)
} else := _invalid_verdict(policy_key, index.ref_flaw(written_ref.place, written_ref.raw))

_invalid_verdict(policy_key, message) := {"ref": object_ref(policy_key), "reason": "Invalid", "message": message}

# METADATA
# description: The verdict on one ref, after the other policies on its target were heard.
verdict(policy_key, ref) := own if {
	own := own_verdict(policy_key, ref)
	own.reason != "Accepted"
} else := conflict(policy_key, ref) if {
	true
} else := {"reason": "Accepted", "message": "Policy has been accepted"}

# METADATA
# description: The verdict on one ref by what the policy and the target say, without the other policies.
own_verdict(policy_key, ref) := {"reason": "Invalid", "message": message} if {
	message := invalid(policy_key)
} else := {"reason": "Invalid", "message": message} if {
	message := _ref_invalid(policy_key, ref)
} else := {"reason": "TargetNotFound", "message": _not_found(policy_key, ref)} if {
	not _reachable(policy_key, ref)
} else := {"reason": "Accepted", "message": ""}

_not_found(policy_key, ref) := sprintf("Target %s is not found, or no ReferenceGrant lets this policy name it", [describe(ref)]) if {
	keys.parse(ref.object).namespace != keys.parse(policy_key).namespace
	not hierarchy.cluster_scoped(keys.parse(ref.object).type)
} else := sprintf("Target %s is not found", [describe(ref)])

# METADATA
# description: Why a policy is Invalid as a whole; undefined where it is not.
invalid(policy_key) := policy.facts(policy_key).invalid

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
# description: How messages name a declared target, `Kind namespace/name#section`.
describe(ref) := sprintf("%s %s%s", [keys.parse(ref.object).kind, keys.short(ref.object), suffix]) if {
	suffix := {true: "", false: concat("", ["#", ref.section])}[ref.section == ""]
}

_ref_invalid(policy_key, ref) := message if {
	not kinds.may_target(keys.parse(policy_key).type, keys.parse(ref.object).type)
	message := sprintf("%s cannot target a %s", [keys.parse(policy_key).kind, keys.parse(ref.object).kind])
} else := message if {
	ref.section != ""
	not kinds.may_target_sections(keys.parse(policy_key).type, keys.parse(ref.object).type)
	message := sprintf("%s cannot target a section of a %s", [keys.parse(policy_key).kind, keys.parse(ref.object).kind])
} else := message if {
	regex.match(`[\[\]]`, ref.section)
	message := sprintf("%q is no sectionName: name the rule, and use its name", [ref.section])
} else := message if {
	not _in_own_namespace(policy_key, ref.object)
	message := _namespace_invalid(policy_key, ref)
}

# METADATA
# description: |
#   A ref of a policy that is accepted wherever its target is there, by what the policy, its kind and the ref say; of a policy
#   that may have such refs. Kept with the policy.
is_near(policy_key, ref) if {
	_in_own_namespace(policy_key, ref.object)
	not _ref_invalid(policy_key, ref)
}

_in_own_namespace(policy_key, object_key) if {
	namespace := keys.parse(object_key).namespace
	namespace == keys.parse(policy_key).namespace
	namespace != "-"
}

# A cluster-scoped target takes only cluster-scoped policies, except a policy's own Namespace; a cluster-scoped policy
# has no namespace to assume for a target (semantics T3).
_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	target.namespace == "-"
	own := keys.parse(policy_key).namespace
	own != "-"
	not {"type": target.type, "name": target.name} == {"type": "core/Namespace", "name": own}
	message := sprintf("A policy in a namespace cannot target %s, which is cluster-scoped", [describe(ref)])
}

_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	own := keys.parse(policy_key).namespace
	not target.namespace in {"-", own}
	own != "-"
	kinds.of_policy(policy_key).crossNamespace == "Forbidden"
	message := sprintf("%s cannot target another namespace, as %s is", [keys.parse(policy_key).kind, describe(ref)])
}

_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	target.namespace == "-"
	keys.parse(policy_key).namespace == "-"
	levels.by_type[target.type]
	not hierarchy.cluster_scoped(target.type)
	message := sprintf("A cluster-scoped policy must name the namespace of %s", [describe(ref)])
}

_reachable(policy_key, ref) if {
	hierarchy.exists(ref.object)
	_section_exists(ref)
	_permitted(policy_key, ref)
}

_section_exists(ref) if ref.section == ""

_section_exists(ref) if hierarchy.canonical(ref.key)

_permitted(policy_key, ref) if keys.parse(ref.object).namespace in {"-", keys.parse(policy_key).namespace}

_permitted(policy_key, _) if keys.parse(policy_key).namespace == "-"

_permitted(policy_key, ref) if hierarchy.granted(policy_key, ref.object)

# What counts only for a policy's own namespace needs nobody's leave (semantics P6).
_permitted(policy_key, _) if kinds.for_consumers(keys.parse(policy_key).type)
