package bridge.v1

import data.bridge.status as reporting

# METADATA
# description: |
#   `written`: the types of objects that the policy kinds in force may ever make the bridge write to, `{status, annotations}`,
#   of those in `replicated` and of the policies themselves. From it follow the rights that a bridge needs.
# entrypoint: true
written := _input_problem if {
	_input_problem
} else := _error("InvalidInput", "replicated must be a list of <group>/<Kind>") if {
	not _is_list("replicated")
} else := reporting.written({type | some type in input.replicated})
