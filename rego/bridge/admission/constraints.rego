# METADATA
# title: Admission
# description: |
#   What is said of a request to the API server (`input` is its AdmissionRequest): messages that deny it and warnings. One
#   file for each that has something to say.
package bridge.admission

import data.bridge.constraints
import data.bridge.constraints.dispatch

# METADATA
# description: What Constraints deny the request for, each with the name of its Constraint in front.
denied contains message if some ["deny", message] in _judged

# METADATA
# description: What Constraints warn about.
warnings contains message if some ["warn", message] in _judged

# A Constraint itself: one that makes no sense is not let in, one whose policy is not loaded is told of.
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

# Each message with what is done about it. A dryrun is for the audit alone.
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
	message := sprintf("namespace %s is not known yet, and its labels count: try again", [_reviewed.namespace])
} else := {[message, {}]} if {
	message := constraints.step(name, _reviewed).violation
} else := constraints.violations_of(policy, answer) if {
	done := constraints.step(name, _reviewed)
	policy := done.policy
	answer := dispatch.violations[policy] with input as {"parameters": done.parameters, "review": input}
}

# The Constraints that match the object as it was or as it is to be, so that no change of labels leads past one.
_matching contains name if {
	_judges
	some name, spec in constraints.active_constraints
	_fits_scale(object.get(spec, "match", {}))
	some it in _subjects
	_match(name, object.get(spec, "match", {}), it)
}

_fits_scale(_) if not is_scale

_fits_scale(match) if is_about_scale(match)

_match(_, match, it) if constraints.matches(match, it)

# While the labels of its namespace are not known, every selector of them may match.
_match(name, match, it) if {
	constraints.unknown_namespace(name, it)
	constraints.matches(object.remove(match, ["namespaceSelector"]), it)
}

# Deletions are not judged: what violates a Constraint must be able to go. Nor are statuses, which controllers report.
_judges if {
	input.operation in {"CREATE", "UPDATE"}
	object.get(input, "subResource", "") != "status"
	is_object(input.object)
	not constraints.is_exempt(_type)
	not _leaving
}

# An object that is being deleted goes when the last finalizer is taken away, which changes its metadata alone.
_leaving if {
	input.operation == "UPDATE"
	input.object.metadata.deletionTimestamp
	object.remove(input.object, ["metadata", "status"]) == object.remove(input.oldObject, ["metadata", "status"])
}

_subjects contains _reviewed

_subjects contains constraints.subject(input.oldObject) if {
	input.operation == "UPDATE"
	is_object(input.oldObject)
}

# What parameters are selected by: the object as it is to be.
_reviewed := constraints.subject(object.union(input.object, {"metadata": {"namespace": namespace}})) if {
	namespace := object.get(input, "namespace", "")
	namespace != ""
	input.kind.kind != "Namespace"
} else := constraints.subject(input.object)
