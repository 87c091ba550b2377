package bridge.v1

import data.bridge.admission
import data.bridge.effective_targets
import data.bridge.queries

# METADATA
# description: |
#   What guardrails judge about an AdmissionRequest: the Constraints, the objects and the change; for the update of
#   metadata by another resource also the `request` that stands for it. It `describes` if it changes what policies of a kind
#   mean.
# entrypoint: true
guarded_request := object.union(found, {"request": update}) if {
	update := admission.metadata_update
	found := _guarded_request with input as update
} else := _guarded_request

_guarded_request := object.union(
	{
		"constraints": sort(admission.guardrails),
		"objects": sort(admission.judged_objects),
		"changes": admission.change,
		"introduced": [],
	},
	{"describes": true | admission.describes},
)

# METADATA
# description: The violations that the AdmissionRequest `request` introduces by these `objects`.
# entrypoint: true
guarded_violations := found if {
	object_keys := input.objects
	request := input.request
	found := sort(admission.introduced_among(object_keys)) with input as request
}

# METADATA
# description: |
#   The decision of guardrails that were judged in several queries, in the form of `admission`: `introduced` are the
#   violations of a `request`, `unjudged` why others have none, by Constraint.
# entrypoint: true
guarded_decision := {
	"denied": sort({message | some ["deny", message] in messages}),
	"warnings": sort({message | some ["warn", message] in messages}),
} if {
	messages := admission.messages_of_judged
}

# METADATA
# description: |
#   What guardrails judge at each of `objects`, in the form in which `violations` of another OPA takes it as `before`: what
#   was in effect before a change that was not made there.
# entrypoint: true
guarded_targets := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := {key: targets | some key in input.objects; targets := effective_targets.at(key)}
