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
