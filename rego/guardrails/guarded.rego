package bridge.v1

import data.bridge.guarded_changes
import data.bridge.queries

# METADATA
# description: |
#   The objects that guardrails must judge again after a change of the objects `keys`, which had the index paths `was`.
#   Undefined without a guardrail.
# entrypoint: true
guarded := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := sort(guarded_changes.concerned)

# METADATA
# description: |
#   What guardrails judge about an AdmissionRequest: the Constraints, the objects, the change, and why the others are
#   `unjudged`.
# entrypoint: true
guarded_request := {
	"constraints": sort(guarded_changes.guardrails - object.keys(unjudged)),
	"objects": sort(guarded_changes.objects),
	"changes": guarded_changes.change,
	"unjudged": unjudged,
} if {
	unjudged := guarded_changes.too_many(guarded_changes.objects)
}
