package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy

# METADATA
# description: |
#   `outcomes`: what became of each policy of `policyKind` at each of `targets`, the rows that the remediator counts.
#   A target that is gone, has another name now or is no effective target of the kind any more has no rows.
# entrypoint: true
outcomes := _input_problem if {
	_input_problem
} else := _error("InvalidInput", "policyKind must name a policy kind, <group>/<Kind>") if {
	not input.policyKind
} else := _keys_problem("targets") if {
	_keys_problem("targets")
} else := {target: rows |
	some target in input.targets
	hierarchy.canonical(target) == target
	engine.acts_at(input.policyKind, target)
	rows := engine.rows(input.policyKind, target)
}
