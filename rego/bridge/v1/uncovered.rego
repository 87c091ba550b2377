package bridge.v1

import data.bridge.constraints
import data.bridge.effective
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.queries

# METADATA
# description: |
#   Every effective target of `policyKind`, with or without a policy; with `namespace` only those of its objects. A `field`
#   (a JSON pointer) that specs of the kind do not have is an error.
# entrypoint: true
coverable := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.unknown_field({"namespace", "field"})
} else := problem if {
	problem := queries.problem([["policyKind", "policy kind"], ["namespace", {"type": ["string", "null"]}, "namespace must be a name"], _field])
} else := queries.error("UnknownField", message) if {
	message := kinds.unknown_field(input.policyKind, effective.segments(object.get(input, "field", "")))
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
	problem := queries.not_ready
} else := problem if {
	problem := queries.unknown_field({"field"})
} else := problem if {
	problem := queries.problem([
		["policyKind", "policy kind"],
		["targets", "nodes"],
		_field,
	])
} else := [{"target": node, "policyKind": input.policyKind, "paths": paths} |
	some node in input.targets
	paths := constraints.uncovered_paths(input.policyKind, object.get(input, "field", ""), node, queries.source)
	paths != []
]

_field := ["field", {"type": "string"}, "field must be a JSON pointer"]
