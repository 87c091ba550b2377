package bridge.admission

import data.bridge.attachment
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.status as reporting

# An invalid policy is denied if the bridge manages its kind; for another kind it only causes a warning.
denied contains message if {
	some ["Manage", message] in _findings.invalid
}

warnings contains message if {
	some ["Observe", message] in _findings.invalid
}

warnings contains message if some message in _findings.warnings

warnings contains message if {
	count(_findings.invalid) == 0
	not unread_version
	some message in effects
}

# The problems of the policy that a request writes, as if it had been applied. The API server sends the policy in its
# own version, and converts it when it stores it.
_findings := {"invalid": set(), "warnings": {sentence_about(keys.of(obj), sprintf("is not judged: %s", [message]))}} if {
	obj := reviewed_object
	not index.excess(obj)
	message := unread_version
} else := findings if {
	obj := reviewed_object
	key := keys.of(obj)
	findings := policy_findings(key) with input as {"changes": {"upsert": [obj]}}
}

# METADATA
# description: Why the reviewed policy cannot be read in the version that it is written in; undefined where it can.
unread_version := kinds.version_problem(keys.type_of(keys.of(reviewed_object)), reviewed_object.apiVersion).message

# METADATA
# description: |
#   The result of a policy's acceptance: `invalid`, its kind's mode with a message, if no ref is accepted; otherwise
#   `warnings` about its rejected refs.
policy_findings(policy_key) := {"invalid": invalid, "warnings": refused} if {
	kind := kinds.of_policy(policy_key)
	verdict := reporting.accepted_condition(policy_key)
	invalid := {[kind.mode, message] |
		verdict.reason == "Invalid"
		message := sentence_about(policy_key, sprintf("is Invalid: %s", [verdict.message]))
	}
	refused := {message |
		count(invalid) == 0
		some found in attachment.verdicts(policy_key)
		message := _refusal(policy_key, found)
	}
}

_refusal(policy_key, found) := sentence_about(policy_key, text) if {
	found.reason == "Conflicted"
	text := sprintf("conflicts with %s: %s", [keys.short(attachment.conflict_winner(policy_key, found.ref)), found.message])
} else := sentence_about(policy_key, sprintf("is not accepted for one target: %s", [found.message])) if {
	found.reason != "Accepted"
}

# METADATA
# description: A sentence about a policy.
sentence_about(policy_key, text) := sprintf("%s %s %s", [keys.parse(policy_key).kind, keys.short(policy_key), text])

# An invalid PolicyKind has no effect. Its status reports that; the warning reports it immediately.
warnings contains sprintf("PolicyKind %s is not active: %s", [reviewed_object.metadata.name, verdict.message]) if {
	verdict := _kind_verdict
	verdict.status == "False"
}

_kind_verdict := verdict if {
	obj := reviewed_object
	key := keys.of(obj)
	keys.parse(key).type == kinds.policykind_type
	verdict := kinds.verdict(key) with input as {"changes": {"upsert": [obj]}}
}
