package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.scopes

# METADATA
# description: |
#   `effective`: the effective policies at `targets`, for each policy kind and path. A target that lies above a kind's
#   effective level stands for the effective targets below it. A path with no policy is absent. With `sourceNamespace`
#   what holds for requests from there, else only what is the same for all (semantics P6).
# entrypoint: true
effective := _input_problem if {
	_input_problem
} else := _targets_problem if {
	_targets_problem
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in sort({[scope, kind] |
		some kind in _policy_kinds
		some target in input.targets
		some scope in scopes.at_or_below(kind, hierarchy.canonical(target))
	})
	paths := engine.at(kind, node, object.get(input, "sourceNamespace", ""))
	paths != []
]
