# METADATA
# title: Admission
# description: |
#   The decision on a request to the API server (`input` is its AdmissionRequest): messages that deny it, and warnings.
#   There is one file for each subject.
package bridge.admission

import data.bridge.attachment
import data.bridge.constraints
import data.bridge.constraints.dispatch
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.status as reporting

# An invalid policy is denied if the bridge manages its kind; for another kind it only causes a warning.
denied contains message if some ["Manage", message] in _findings.invalid

warnings contains message if some ["Observe", message] in _findings.invalid
warnings contains message if some message in _findings.warnings

warnings contains message if {
	count(_findings.invalid) == 0
	not _unread_version
	some message in effects
}

# The problems of the policy that a request writes, as if it had been applied. The API server sends the policy in its
# own version, and converts it when it stores it.
_findings := {"invalid": set(), "warnings": {sentence_about(keys.of(obj), sprintf("is not judged: %s", [message]))}} if {
	obj := reviewed_object
	not index.excess(obj)
	message := _unread_version
} else := findings if {
	obj := reviewed_object
	key := keys.of(obj)
	findings := _policy_findings(key) with input as {"changes": {"upsert": [obj]}}
}

# Why the reviewed policy cannot be read in the version that it is written in; undefined where it can.
_unread_version := kinds.version_problem(keys.type_of(keys.of(reviewed_object)), reviewed_object.apiVersion).message

# The result of a policy's acceptance: `invalid`, its kind's mode with a message, if no ref is accepted; otherwise
# `warnings` about its rejected refs.
_policy_findings(policy_key) := {"invalid": invalid, "warnings": refused} if {
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

denied contains message if some ["deny", message] in _judged

warnings contains message if some ["warn", message] in _judged

# An invalid Constraint is denied; one whose policy is not loaded causes a warning.
denied contains message if {
	_writes_constraint
	some message in constraints.problems(object.get(input.object, "spec", null))
}

warnings contains message if {
	_writes_constraint
	constraints.problems(input.object.spec) == []
	action := constraints.action(input.object.spec)
	not constraints.is_loaded(input.object.spec.policy)
	message := constraints.policy_missing(input.object.spec.policy, action)
}

_writes_constraint if {
	_type == constraints.type
	input.operation in {"CREATE", "UPDATE"}
	object.get(input, "subResource", "") == ""
}

_type := concat("/", [_group, input.kind.kind])

_group := input.kind.group if input.kind.group != ""
_group := "core" if input.kind.group == ""

# Each message with its action. dryrun concerns the audit only.
_judged contains [action, sprintf("[%s] %s", [name, message])] if {
	some name in _matching
	some [action, message] in _messages[name]
}

_messages[name] contains [constraints.action(constraints.active_constraints[name]), message] if {
	some name in _matching
	some [message, _] in _violations(name)
}

_messages[name] contains ["warn", constraints.step(name, _reviewed).warning] if {
	some name in _matching
	constraints.action(constraints.active_constraints[name]) != "dryrun"
}

_violations(name) := {[message, {}]} if {
	constraints.unknown_namespace(name, _reviewed)
	message := sprintf("namespace %s is not known yet, and a Constraint matches by its labels: try again", [_reviewed.namespace])
} else := {[message, {}]} if {
	message := constraints.step(name, _reviewed).violation
} else := constraints.violations_of(policy, answer) if {
	done := constraints.step(name, _reviewed)
	policy := done.policy
	answer := dispatch.violations[policy] with input as {"parameters": done.parameters, "review": input}
}

# The Constraints that match the old or the new object, so a change of labels evades none.
_matching contains name if {
	_judges
	some name, spec in constraints.active_constraints
	_fits_scale(object.get(spec, "match", {}))
	some it in _subjects
	_match(name, object.get(spec, "match", {}), it)
}

_fits_scale(_) if {
	not is_scale
	not is_binding
}

_fits_scale(match) if names_kind(match, input.kind.kind)

_match(_, match, it) if constraints.matches(match, it)

# While the labels of its namespace are unknown, every namespaceSelector may match.
_match(name, match, it) if {
	constraints.unknown_namespace(name, it)
	constraints.matches(object.remove(match, ["namespaceSelector"]), it)
}

# Constraints do not apply to deletions, because users must be able to delete violating objects, nor to statuses and
# what namespaces are finalized by, which controllers write: of these only the metadata counts (`metadata_update`).
_judges if {
	input.operation in {"CREATE", "UPDATE"}
	not object.get(input, "subResource", "") in {"status", "finalize"}
	is_object(input.object)
	not constraints.is_exempt(_type)
	not _leaving
}

# An object that is being deleted disappears when its last finalizer is removed. Everything else of it stays judged.
_leaving if {
	input.operation == "UPDATE"
	input.oldObject.metadata.deletionTimestamp
	_but_finalizers(input.object) == _but_finalizers(input.oldObject)
}

# Without what the API server itself changes with them, and without the status, which is never judged.
_but_finalizers(obj) := object.union(
	object.remove(obj, ["metadata", "status"]),
	{"metadata": object.remove(obj.metadata, ["finalizers", "managedFields", "resourceVersion", "generation"])},
)

_subjects contains _reviewed

_subjects contains constraints.subject(input.oldObject) if {
	input.operation == "UPDATE"
	is_object(input.oldObject)
}

# The new object selects the parameters.
_reviewed := constraints.subject(object.union(input.object, {"metadata": {"namespace": namespace}})) if {
	namespace := object.get(input, "namespace", "")
	namespace != ""
	input.kind.kind != "Namespace"
} else := constraints.subject(input.object)
