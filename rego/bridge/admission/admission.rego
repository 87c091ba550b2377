# METADATA
# title: Admission
# description: |
#   The decision on a request to the API server (`input` is its AdmissionRequest): messages that deny it, and warnings.
#   There is one file for each subject.
package bridge.admission

import data.bridge.attachment
import data.bridge.constraints
import data.bridge.constraints.by_target
import data.bridge.constraints.dispatch
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.status as reporting

# The decision on the request and, if it changes an object by another resource, on the update of that object. Of an
# update of metadata, only what was not violated before counts.
decisions := ({decision} | {found |
	found := decision with input as scale_update
}) | {object.union(
	{"denied": found.denied - before.denied, "warnings": found.warnings - before.warnings},
	{"remaining": object.union(others, {"request": update}) | others := found.remaining},
) |
	update := metadata_update
	found := decision with input as update
	before := decision with input as object.union(object.remove(update, ["object"]), {"object": update.oldObject})
}

# The decision on one request, `{denied, warnings, remaining?, unloaded?, change?}`; any message in `denied` denies it.
# `remaining` is what guardrails have not judged yet, `unloaded` those that OPA lacks, for which it is denied, `change` what
# later requests are judged with until OPA has it.
decision := object.union_n([
	{
		"denied": {message | some ["deny", message] in _messages},
		"warnings": {message | some ["warn", message] in _messages},
	},
	{"remaining": others | others := remaining},
	{"change": made | made := guarded_change},
	{"unloaded": policies |
		policies := {constraints.active_constraints[name].policy | some name, _ in unloaded; constraints.unjudged_action(name) == "deny"}
		policies != set()
	},
])

# Each message with its action. dryrun concerns the audit only.
_messages := union({
	{found | some found in _about_policy},
	# An invalid PolicyKind has no effect. Its status reports that; the warning reports it immediately.
	{["warn", sprintf("PolicyKind/%s is not active: %s", [reviewed_object.metadata.name, verdict.message])] |
		key := keys.of(reviewed_object)
		keys.type_of(key) == kinds.policykind_type
		obj := reviewed_object
		verdict := kinds.verdict(key) with input as {"changes": {"upsert": [obj]}}
		verdict.status == "False"
	},
	# An invalid Constraint is denied; one whose policy is not loaded causes a warning.
	{["deny", message] |
		_writes_constraint
		some message in constraints.problems(object.get(input.object, "spec", null))
	},
	{["deny", message] |
		_writes_constraint
		some message in constraints.current_parameter_problems(input.object.spec)
	},
	{["warn", constraints.policy_missing(input.object.spec.policy, constraints.action(input.object.spec))] |
		_writes_constraint
		constraints.problems(input.object.spec) == []
		not constraints.is_loaded(input.object.spec.policy)
	},
	# It is never denied: a guardrail that is wrong must not keep users from removing it.
	{["warn", sprintf("%s: %s after this request", [message, effect])] |
		_type == constraints.type
		object.get(input, "subResource", "") == ""
		latter := {"DELETE": null, "UPDATE": object.get(input, "object", null)}[input.operation]
		message := constraints.relaxed(input.oldObject, latter)
		effects := {"deny": "requests that it denied are admitted", "warn": "it no longer warns"}
		effect := effects[constraints.action(input.oldObject.spec)]
	},
	{[action, sprintf("[%s] %s", [name, message])] | some name in _matching; some [action, message] in _judgments(name)},
	guardrail_messages,
})

# The problems of the policy that a request writes, as if it had been applied, and its effects if it is valid. The API
# server sends the policy in its own version, and converts it when it stores it.
_about_policy := {["warn", sentence_about(keys.of(obj), sprintf("is not judged: %s", [message]))]} if {
	obj := reviewed_object
	not index.excess(obj)
	message := _unread_version
} else := found.messages | {["warn", message] | not found.invalid; not _unread_version; some message in effects} if {
	found := assessed_after.findings
}

# METADATA
# description: |
#   Why the request does not show what the policy that it writes sets, although a controller may obey it. Undefined if it does.
unread_because := _unread_version if {
	true
} else := excess if {
	kinds.get(keys.type_of(keys.of(reviewed_object))).mode == "Observe"
	excess := index.excess(reviewed_object)
} else := "its spec changes while it is being deleted" if {
	input.operation == "UPDATE"
	written_object.metadata.deletionTimestamp
	kinds.get(keys.type_of(keys.of(written_object)))
	object.get(written_object, "spec", null) != object.get(input.oldObject, "spec", null)
}

# Why the reviewed policy cannot be read in the version that it is written in; undefined where it can.
_unread_version := kinds.version_problem(keys.type_of(keys.of(reviewed_object)), reviewed_object.apiVersion).message

# The findings about a policy, and a list with what it does, if it is valid.
assess(policy_key) := {"findings": found, "sample": [sample | not found.invalid; sample := sample_effects(policy_key)]} if {
	found := _findings(policy_key)
}

# The result of a policy's acceptance, `{invalid, messages}`. An invalid policy is denied if the bridge manages its kind;
# for another kind it only causes a warning, as do the rejected refs of a valid one.
_findings(policy_key) := {"invalid": true, "messages": {[action, sentence_about(policy_key, text)]}} if {
	action := {"Manage": "deny", "Observe": "warn"}[kinds.of_policy(policy_key).mode]
	verdict := reporting.accepted_condition(policy_key)
	verdict.reason == "Invalid"
	text := sprintf("is Invalid: %s", [verdict.message])
} else := {"invalid": false, "messages": {["warn", sentence_about(policy_key, text)] |
	some found in attachment.verdicts(policy_key)
	text := _refusal(policy_key, found)
}} if {
	kinds.of_policy(policy_key)
}

_refusal(policy_key, found) := sprintf("conflicts with %s: %s", [keys.short(winner), found.message]) if {
	found.reason == "Conflicted"
	winner := attachment.conflict_winner(policy_key, found.ref)
} else := sprintf("is not accepted for one target: %s", [found.message]) if {
	found.reason != "Accepted"
}

sentence_about(policy_key, text) := sprintf("%s %s", [keys.describe(policy_key), text])

_writes_constraint if {
	_type == constraints.type
	input.operation in {"CREATE", "UPDATE"}
	object.get(input, "subResource", "") == ""
}

_type := concat("/", [keys.group_name(input.kind.group), input.kind.kind])

_judgments(name) := {[action, message] | some [message, _] in _violations(name)} | {["warn", message] |
	action in {"deny", "warn"}
	message := constraints.step(name, _reviewed).warning
} if {
	action := constraints.action_on(name, _reviewed)
}

_violations(name) := {[message, {}]} if {
	constraints.unknown_namespace(name, _reviewed)
	message := sprintf("namespace %s is not known yet, but a Constraint matches by its labels. Try again", [_reviewed.namespace])
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
	not by_target.names[spec.policy] # guardrails, which judge what is in effect
	_fits_scale(object.get(spec, "match", {}))
	some it in _subjects
	_match(name, object.get(spec, "match", {}), it)
}

_fits_scale(_) if {
	not is_scale
	not is_binding
}

# A match names a kind. A Scale or a Binding has none of its object's labels and fields, so the match must name it.
_fits_scale(match) if {
	some entry in match.kinds
	input.kind.kind in entry.kinds
}

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
