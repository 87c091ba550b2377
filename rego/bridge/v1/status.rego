package bridge.v1

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `status`: the desired conditions or ancestors of each of `policies`, with the condition `types` that the bridge sets
#   and removes. `tallies` are counts by policy; by default the policy's outcomes are computed. A PolicyKind has a
#   status too. Deleted objects, and those being deleted, have none.
# entrypoint: true
status := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("policies") if {
	queries.keys_problem("policies")
} else := [entry |
	some policy in input.policies
	entry := status_of(policy, _tallies(policy))
]

_tallies(policy) := object.get(input.tallies, policy, []) if input.tallies

_tallies(policy) := outcomes.tallies(policy) if not input.tallies

# METADATA
# description: The desired status of a policy or a PolicyKind. Undefined if it is deleted or being deleted.
status_of(policy, tallies) := reporting.of_policy(policy, tallies) if {
	_alive(policy)
	kinds.of_policy(policy)
} else := {"policy": policy, "policyKind": kinds.policykind_type, "mode": "Manage", "conditions": [condition], "types": ["Accepted"]} if {
	keys.parse(policy).type == kinds.policykind_type
	_alive(policy)
	condition := reporting.with_generation(policy, object.union(kinds.verdict(policy), {"type": "Accepted"}))
}

_alive(key) if {
	obj := lookup.get(key)
	not obj.metadata.deletionTimestamp
}
