package bridge.v1

import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `writable_types`: the types of objects that the bridge may write because of active policy kinds, `{status,
#   annotations}`, from those in `replicated` and of the policies themselves. The permissions of a bridge follow from
#   it.
# entrypoint: true
writable_types := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "replicated must be a list of <group>/<Kind>") if {
	not queries.is_list("replicated")
} else := reporting.writable_types({type | some type in input.replicated})
