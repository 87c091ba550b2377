package bridge.policy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: Why a selector of a policy cannot select anything (semantics T2, T3).
selector_problem(policy_key, selector) := sprintf("%s cannot target a %s%s", [
	keys.parse(policy_key).kind,
	split(selector.type, "/")[1],
	group_hint(keys.type_of(policy_key), selector.type),
]) if {
	not kinds.may_target(keys.parse(policy_key).type, selector.type)
} else := sprintf("A policy in a namespace selects there; a %s is cluster-scoped", [split(selector.type, "/")[1]]) if {
	selector.namespace != any_namespace
	keys.parse(policy_key).namespace != "-"
	kinds.cluster_scoped(selector.type)
} else := sprintf("A cluster-scoped policy selects cluster-scoped objects; a %s is in a namespace", [split(selector.type, "/")[1]]) if {
	selector.namespace == "-"
	levels.by_type[selector.type]
	not kinds.cluster_scoped(selector.type)
}
