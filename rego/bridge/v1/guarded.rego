package bridge.v1

import data.bridge.admission
import data.bridge.effective_targets
import data.bridge.queries

# METADATA
# description: |
#   The objects that guardrails must judge again after a change of the objects `keys`, which had the index paths `was`.
# entrypoint: true
guarded := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := sort(admission.concerned_objects)

# METADATA
# description: |
#   What guardrails judge about an AdmissionRequest: the Constraints, the objects, the change, and why the others are
#   `unjudged`.
# entrypoint: true
guarded_request := {
	"constraints": sort(admission.guardrails - object.keys(unjudged)),
	"objects": sort(admission.judged_objects),
	"changes": admission.change,
	"unjudged": unjudged,
} if {
	unjudged := admission.too_many(admission.judged_objects)
}

# METADATA
# description: |
#   What guardrails judge at each of `objects`, in the form in which `violations` of another OPA takes it as `before`: what
#   was in effect before a change that was not made there.
# entrypoint: true
guarded_targets := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := {key: targets | some key in input.objects; targets := effective_targets.at(key)}
