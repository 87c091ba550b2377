package bridge.admission

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.status as reporting

# A policy that cannot be is kept out where we answer for its kind; of another kind it is only told.
denied contains message if {
	some ["Manage", message] in _policy_told.invalid
}

warnings contains message if {
	some ["Observe", message] in _policy_told.invalid
}

warnings contains message if some message in _policy_told.warnings

warnings contains message if {
	count(_policy_told.invalid) == 0
	some message in effects
}

# What is wrong with the policy that a request writes, judged as if it were there.
_policy_told := told if {
	obj := written
	key := keys.of(obj)
	told := policy_told(key) with input as {"changes": {"upsert": [obj]}}
}

# METADATA
# description: |
#   What acceptance of a policy comes to: `invalid`, its kind's mode with a message, where all of it is; else `warnings` about
#   its refs that are not accepted.
policy_told(policy_key) := {"invalid": invalid, "warnings": refused} if {
	kind := kinds.of_policy(policy_key)
	verdict := reporting.accepted(policy_key)
	invalid := {[kind.mode, message] |
		verdict.reason == "Invalid"
		message := sentence_about(policy_key, sprintf("is Invalid: %s", [verdict.message]))
	}
	refused := {message |
		count(invalid) == 0
		some heard in attachment.verdicts(policy_key)
		message := _refusal(policy_key, heard)
	}
}

_refusal(policy_key, heard) := sentence_about(policy_key, text) if {
	heard.reason == "Conflicted"
	text := sprintf("conflicts with %s: %s", [keys.short(attachment.conflicting(policy_key, heard.ref)), heard.message])
} else := sentence_about(policy_key, sprintf("is not accepted for one target: %s", [heard.message])) if {
	heard.reason != "Accepted"
}

# METADATA
# description: A sentence about a policy.
sentence_about(policy_key, text) := sprintf("%s %s %s", [keys.parse(policy_key).kind, keys.short(policy_key), text])

# A PolicyKind that makes no sense changes nothing, and says so in its status; here it is told at once.
warnings contains sprintf("PolicyKind %s is not in force: %s", [written.metadata.name, verdict.message]) if {
	verdict := _kind_verdict
	verdict.status == "False"
}

_kind_verdict := verdict if {
	obj := written
	key := keys.of(obj)
	keys.parse(key).type == kinds.policykind_type
	verdict := kinds.verdict(key) with input as {"changes": {"upsert": [obj]}}
}
