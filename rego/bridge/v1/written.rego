package bridge.v1

import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `written`: the types of objects that the policy kinds in force may ever make the bridge write to, `{status, annotations}`,
#   of those in `replicated` and of the policies themselves. From it follow the rights that a bridge needs.
# entrypoint: true
written := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "replicated must be a list of <group>/<Kind>") if {
	not queries.is_list("replicated")
} else := reporting.written({type | some type in input.replicated})
