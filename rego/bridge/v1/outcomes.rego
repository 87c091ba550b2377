package bridge.v1

import data.bridge.hierarchy
import data.bridge.outcomes
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `outcomes`: what became of each policy of `policyKind` at each of `targets`, the rows that the remediator counts.
#   A target that is gone, has another name now or is no effective target of the kind any more has no rows.
# entrypoint: true
outcomes := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "policyKind must name a policy kind, <group>/<Kind>") if {
	not input.policyKind
} else := queries.keys_problem("targets") if {
	queries.keys_problem("targets")
} else := outcomes_at(input.policyKind, input.targets)

# METADATA
# description: The rows of a policy kind at each of these targets that is an effective target of it now.
outcomes_at(policy_kind, targets) := {target: entries |
	some target in targets
	hierarchy.canonical_key(target) == target
	scopes.acts_at(policy_kind, target)
	entries := outcomes.outcomes_at(policy_kind, target)
}
