package bridge.v1

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `outcomes`: the outcome of each policy of `policyKind` at each of `targets`, the rows that the remediator counts. A
#   target that was deleted, has another name now or is not an effective target of the kind anymore has no rows. Targets
#   with too many paths together are an error, TooManyPaths, unless there is one target.
# entrypoint: true
outcomes := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "policyKind must name a policy kind, <group>/<Kind>") if {
	not input.policyKind
} else := queries.keys_problem("targets") if {
	queries.keys_problem("targets")
} else := queries.error("TooManyPaths", sprintf("more than %d paths lead to the targets together: query fewer at once", [hierarchy.paths_bound])) if {
	count(input.targets) > 1
	paths_to(input.policyKind, input.targets) > hierarchy.paths_bound
} else := outcomes_at(input.policyKind, input.targets)

# METADATA
# description: The number of paths from which the rows of a policy kind at these targets are computed.
paths_to(policy_kind, targets) := count(targets) if {
	kinds.is_direct(policy_kind)
	not outcomes.keeps_status_above(policy_kind)
	not kinds.get(policy_kind).controllers
} else := sum([hierarchy.path_count(keys.whole(target)) | some target in targets])

# METADATA
# description: The rows of a policy kind at each of these targets that is an effective target of it now.
outcomes_at(policy_kind, targets) := {target: entries |
	some target in targets
	scopes.acts_at(policy_kind, target)
	hierarchy.canonical_key(target) == target
	entries := outcomes.outcomes_at(policy_kind, target)
}
