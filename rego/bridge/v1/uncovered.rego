package bridge.v1

import data.bridge.constraints
import data.bridge.lib.keys
import data.bridge.queries

# METADATA
# description: |
#   Every effective target of `policyKind`, with or without a policy; with `namespace` only those of its objects.
# entrypoint: true
coverable := problem if {
	problem := queries.problem([["policyKind", "policy kind"], ["namespace", {"type": ["string", "null"]}, "namespace must be a name"]])
} else := sort({node |
	some node in constraints.targets_of(input.policyKind)
	object.get(input, "namespace", null) in {null, keys.parse(node).namespace}
})

# METADATA
# description: |
#   Those of the effective targets `targets` to which paths lead without a policy of `policyKind` in effect or, with `field`
#   (a JSON pointer), without a value there: `{target, policyKind, paths}`.
# entrypoint: true
uncovered := problem if {
	problem := queries.problem([
		["policyKind", "policy kind"],
		["targets", "nodes"],
		["field", {"type": "string"}, "field must be a JSON pointer"],
	])
} else := [{"target": node, "policyKind": input.policyKind, "paths": paths} |
	some node in input.targets
	paths := constraints.uncovered_paths(input.policyKind, object.get(input, "field", ""), node, queries.source)
	paths != []
]
