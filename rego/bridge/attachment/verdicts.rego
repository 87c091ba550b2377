package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy

# METADATA
# description: |
#   The verdict on each ref of a policy, in order: `{ref, reason, message}`, reason Accepted, Invalid, TargetNotFound or
#   Conflicted (GEP-713, "Status conditions"; semantics T2 to T4). If a ref names no object, the policy itself is the
#   ref.
verdicts(policy_key) := [invalid_verdict(policy_key, message)] if {
	message := policy.excess(policy_key)
} else := found if {
	namespace := keys.namespace(policy_key)
	by_name := [_verdict_on(policy_key, namespace, ref) | some ref in policy.refs_with_places(policy_key)]
	found := array.concat(by_name, selector_verdicts(policy_key))
	count(found) > 0
} else := [invalid_verdict(policy_key, policy_problem(policy_key))]

_verdict_on(policy_key, namespace, written_ref) := object.union({"ref": ref}, verdict(policy_key, ref)) if {
	ref := index.target_ref(namespace, written_ref.raw)
} else := invalid_verdict(policy_key, index.ref_flaw(written_ref.place, written_ref.raw))

# METADATA
# description: The verdict on a ref that names no object, or on a policy that is Invalid as a whole.
invalid_verdict(policy_key, message) := {"ref": policy.object_ref(policy_key), "reason": "Invalid", "message": message}

# METADATA
# description: The verdict on one ref, including conflicts with other policies of its target.
verdict(policy_key, ref) := own if {
	own := own_verdict(policy_key, ref)
	own.reason != "Accepted"
} else := conflict(policy_key, ref) if {
	true
} else := conflict_elsewhere(policy_key) if {
	true
} else := {"reason": "Invalid", "message": message} if {
	# After conflicts: a policy that is refused for its port still holds its target, as for Envoy Gateway (semantics F5).
	message := _shared_port_problem(policy_key, ref)
} else := {"reason": "Accepted", "message": "Policy has been accepted"}

# METADATA
# description: |
#   The verdict on one ref by the policy and the target only, without other policies and without the ports that the
#   target shares with other listeners.
own_verdict(policy_key, ref) := {"reason": "Invalid", "message": message} if {
	message := policy_problem(policy_key)
} else := {"reason": "Invalid", "message": message} if {
	message := policy.ref_problem(policy_key, ref)
} else := {"reason": "TargetNotFound", "message": _not_found(policy_key, ref)} if {
	not _reachable(policy_key, ref)
} else := {"reason": "Invalid", "message": message} if {
	message := _port_problem(policy_key, ref)
} else := {"reason": "Accepted", "message": ""}

# No port that a ref names has a protocol on which the kind acts (GEP-1897: TLS to a port that is for UDP only).
_port_problem(policy_key, ref) := sprintf("%s acts on ports for %s, and %s is for %s only", [
	keys.parse(policy_key).kind,
	concat(" and ", protocols),
	policy.describe(ref),
	concat(" and ", sort(offered)),
]) if {
	protocols := kinds.target_protocols(keys.type_of(policy_key), keys.type_of(ref.object))
	offered := hierarchy.port_protocols(ref.object, ref.section)
	count(offered) > 0
	every protocol in offered {
		not protocol in protocols
	}
}

# A ref leaves out an HTTP listener of a port on which the kind acts as a whole.
_shared_port_problem(policy_key, ref) := sprintf("%s acts on whole ports, and %s shares a port with %s", [
	keys.parse(policy_key).kind,
	policy.describe(ref),
	concat(" and ", [keys.short(listener) | some listener in sharing]),
]) if {
	kinds.acts_on_whole_ports(keys.type_of(policy_key), keys.type_of(ref.object))
	sharing := sort(hierarchy.listeners_sharing_ports(ref.object, ref.section))
	count(sharing) > 0
}

_not_found(policy_key, ref) := sprintf("Target %s is not found, or no ReferenceGrant lets this policy name it%s", [
	policy.describe(ref),
	_group_hint(policy_key, ref),
]) if {
	keys.parse(ref.object).namespace != keys.parse(policy_key).namespace
	not kinds.cluster_scoped(keys.parse(ref.object).type)
} else := sprintf("Target %s is not found%s", [policy.describe(ref), _group_hint(policy_key, ref)])

_group_hint(policy_key, ref) := policy.group_hint(keys.type_of(policy_key), keys.type_of(ref.object))

# METADATA
# description: The reason why a policy is Invalid as a whole; undefined if it is valid.
policy_problem(policy_key) := policy.fact(policy_key, "invalid")

_reachable(policy_key, ref) if {
	hierarchy.exists(ref.object)
	_section_exists(ref)
	is_permitted(policy_key, ref.object)
}

_section_exists(ref) if ref.section == ""

# A port that has a name is not named by its number (semantics K2).
_section_exists(ref) if hierarchy.canonical_key(ref.key) == ref.key

# METADATA
# description: |
#   A policy may target an object: one of its own namespace, or if a ReferenceGrant allows it. A ref without permission
#   has the same verdict whether the object exists or not (semantics T2).
is_permitted(policy_key, object_key) if {
	keys.namespace(object_key) in {"", keys.namespace(policy_key)}
} else if {
	keys.namespace(policy_key) == ""
} else if {
	# A policy that counts only for its own namespace needs no permission (semantics P6).
	kinds.is_consumer_kind(keys.type_of(policy_key))
} else if {
	# `ref_problem` decides whether a policy of the root namespace may name the object (semantics T8).
	kinds.is_root_namespace(keys.type_of(policy_key), keys.namespace(policy_key))
} else if {
	hierarchy.is_granted(policy_key, object_key)
} else := false
