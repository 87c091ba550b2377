package bridge.policy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup

# METADATA
# description: "Why a policy takes no part: `true` while it is being deleted, `staged` if it is staged. Undefined if it does."
absence(policy) if {
	policy.metadata.deletionTimestamp
} else := "staged" if {
	is_staged(policy)
}

# METADATA
# description: The policy kind of a policy says that it is staged.
is_staged(policy) if {
	staged := kinds.get(keys.type(policy.apiVersion, policy.kind)).staged
	found := object.get(policy, leaves.segments(staged.path), null)
	found != null
	found in object.get(staged, "values", [object.get(staged, "value", found)])
}

# METADATA
# description: A policy takes no part, by its facts. For a query with `staged`, staged policies do.
is_out(policy_key) if {
	why := fact(policy_key, "absence")
	_counts(why)
}

_counts(true)

_counts("staged") if not input.staged

# METADATA
# description: "Why a policy that takes no part is ignored: `{reason, message}`."
refusal(policy_key) := {"reason": "Staged", "message": sprintf("%s is staged: it would be effective", [keys.describe(policy_key)])} if {
	absence(lookup.get(policy_key)) == "staged"
} else := {"reason": "Deleting", "message": sprintf("%s is being deleted", [keys.describe(policy_key)])}

# METADATA
# description: The fields that facts of policies depend on besides the spec, as JSON Pointers, sorted.
fields_of_facts := sort({path | some name in kinds.names; path := kinds.get(name).staged.path} | {leaves.pointer(segments) |
	some name in kinds.names
	segments := kinds.get(name).weight.segments
})
