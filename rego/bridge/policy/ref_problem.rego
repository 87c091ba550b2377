package bridge.policy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: The name of a declared target in messages, `Kind namespace/name#section`.
describe(ref) := sprintf("%s %s%s", [keys.parse(ref.object).kind, keys.short(ref.object), suffix]) if {
	suffix := {true: "", false: concat("", ["#", ref.section])}[ref.section == ""]
}

# METADATA
# description: |
#   Why a ref of a policy is Invalid by the policy, its kind and the ref only (semantics T2, T3); undefined if it is
#   valid.
ref_problem(policy_key, ref) := message if {
	not kinds.may_target(keys.parse(policy_key).type, keys.parse(ref.object).type)
	message := sprintf("%s cannot target a %s%s", [
		keys.parse(policy_key).kind,
		keys.parse(ref.object).kind,
		group_hint(keys.type_of(policy_key), keys.type_of(ref.object)),
	])
} else := message if {
	ref.section != ""
	not kinds.may_target_sections(keys.parse(policy_key).type, keys.parse(ref.object).type)
	message := sprintf("%s cannot target a section of a %s", [keys.parse(policy_key).kind, keys.parse(ref.object).kind])
} else := message if {
	regex.match(`[\[\]]`, ref.section)
	message := sprintf("%q is not a valid sectionName: give the rule a name, and use that name", [ref.section])
} else := message if {
	not _in_own_namespace(policy_key, ref.object)
	message := _namespace_invalid(policy_key, ref)
}

# METADATA
# description: |
#   A ref of a policy that is accepted if its target exists, by the policy, its kind and the ref only, for policies that
#   may have such refs. Stored with the policy.
is_near(policy_key, ref) if {
	not kinds.depends_on_ports(keys.type_of(policy_key), keys.type_of(ref.object))
	_in_own_namespace(policy_key, ref.object)
	not ref_problem(policy_key, ref)
}

_in_own_namespace(policy_key, object_key) if {
	namespace := keys.parse(object_key).namespace
	namespace == keys.parse(policy_key).namespace
	namespace != "-"
}

# Only cluster-scoped policies may target cluster-scoped objects, except a policy's own Namespace; a cluster-scoped
# policy has no default namespace for targets (semantics T3).
_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	target.namespace == "-"
	own := keys.parse(policy_key).namespace
	own != "-"
	not kinds.is_root_namespace(keys.type_of(policy_key), own)
	not {"type": target.type, "name": target.name} == {"type": "core/Namespace", "name": own}
	message := sprintf("A policy in a namespace cannot target %s, which is cluster-scoped", [describe(ref)])
}

_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	own := keys.parse(policy_key).namespace
	not target.namespace in {"-", own}
	own != "-"
	not ref.anywhere
	kinds.of_policy(policy_key).crossNamespace == "Forbidden"
	message := sprintf("%s cannot target another namespace, as %s is", [keys.parse(policy_key).kind, describe(ref)])
}

_namespace_invalid(policy_key, ref) := message if {
	target := keys.parse(ref.object)
	target.namespace == "-"
	keys.parse(policy_key).namespace == "-"
	levels.by_type[target.type]
	not kinds.cluster_scoped(target.type)
	message := sprintf("A cluster-scoped policy must name the namespace of %s", [describe(ref)])
}
