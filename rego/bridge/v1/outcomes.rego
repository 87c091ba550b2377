package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy

# METADATA
# description: |
#   `outcomes`: what became of each policy of `policyKind` at each of `targets`, the rows that the remediator counts.
#   A target that is gone, or has another name now, has no rows.
# entrypoint: true
outcomes := _input_problem if {
	_input_problem
} else := {target: rows |
	some target in input.targets
	hierarchy.canonical(target) == target
	rows := engine.rows(input.policyKind, target)
}
