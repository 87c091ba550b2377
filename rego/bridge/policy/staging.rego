package bridge.policy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup

# METADATA
# description: "Why a policy takes no part: `true` while it is being deleted, `copy` if a controller made it from another, `staged` if it is staged. Undefined if it does."
absence(policy) if {
	policy.metadata.deletionTimestamp
} else := _withheld(policy_kind, policy) if {
	policy_kind := kinds.get(keys.type(policy.apiVersion, policy.kind))
	policy_kind.traits.withheld
}

_withheld(policy_kind, policy) := "copy" if {
	object.get(policy, leaves.segments(policy_kind.copies), null) != null
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
# description: A controller made the policy from another one, which is the one that counts.
is_copy(policy_key) if fact(policy_key, "absence") == "copy"

# METADATA
# description: A policy takes no part, by its facts. For a query with `staged`, staged policies do.
is_out(policy_key) if {
	why := fact(policy_key, "absence")
	_counts(why)
}

_counts(true)

_counts("copy")

_counts("staged") if not input.staged

# METADATA
# description: "Why a policy that takes no part is ignored: `{reason, message}`."
refusal(policy_key) := {"reason": "Staged", "message": sprintf("%s is staged: it would be effective", [keys.describe(policy_key)])} if {
	absence(lookup.get(policy_key)) == "staged"
} else := {"reason": "Copy", "message": sprintf("%s is a copy that its controller made", [keys.describe(policy_key)])} if {
	absence(lookup.get(policy_key)) == "copy"
} else := {"reason": "Deleting", "message": sprintf("%s is being deleted", [keys.describe(policy_key)])}

# METADATA
# description: The fields that facts of policies, and the links of what binds them, depend on besides the spec, as JSON Pointers, sorted.
fields_of_facts := sort(union({
	{kinds.get(name).staged.path | some name in kinds.names},
	{kinds.get(name).copies | some name in kinds.names},
	{leaves.pointer(kinds.get(name).weight.segments) | some name in kinds.names},
	{leaves.pointer(segments) |
		some name in kinds.names
		some entry in kinds.get(name).boundBy
		some segments in [entry.policies, entry.targets]
		segments[0] == "metadata"
	},
}))
