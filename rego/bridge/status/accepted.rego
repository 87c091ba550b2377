# METADATA
# title: Status
# description: The status of a policy (GEP-713, "Status reporting"; semantics S1 to S4).
package bridge.status

import data.bridge.attachment

# METADATA
# description: |
#   The Accepted condition of a policy from the verdicts on its refs. False only if no ref is accepted, with the reason
#   of the first; otherwise the message names the rejected refs (semantics T4).
accepted_condition(policy_key) := {"type": "Accepted", "status": "True", "reason": "Accepted", "message": _accepted_message([])} if {
	attachment.accepts_all(policy_key)
} else := {"type": "Accepted", "status": "True", "reason": "Accepted", "message": message} if {
	verdicts := attachment.verdicts(policy_key)
	refused := [verdict | some verdict in verdicts; verdict.reason != "Accepted"]
	count(refused) < count(verdicts)
	message := _accepted_message(refused)
} else := {"type": "Accepted", "status": "False", "reason": first.reason, "message": first.message} if {
	first := attachment.verdicts(policy_key)[0]
}

_accepted_message(refused) := "Policy has been accepted" if count(refused) == 0

_accepted_message(refused) := fit(sprintf("Policy has been accepted, but not for %d of its targets: %s%s", [
	count(refused),
	concat("; ", [verdict.message | some verdict in array.slice(refused, 0, _refusal_bound)]),
	rest_text(count(refused) - _refusal_bound),
])) if {
	count(refused) > 0
}

# The maximum number of rejected refs that a message explains.
_refusal_bound := 20
