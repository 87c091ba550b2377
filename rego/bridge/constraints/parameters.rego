package bridge.constraints

import data.bridge.constraints.by_target
import data.bridge.lib.schema

# METADATA
# description: The problems of the parameters of an active Constraint, if there are any.
parameter_problems[name] := found if {
	some name, spec in active_constraints
	found := fact(name, "parameters")
	found != []
	not spec.policy in by_target.own
}

# METADATA
# description: The problems of a Constraint's parameters, at most ten, if its policy is a shipped guardrail.
parameter_problems_of(spec) := array.slice(_problems(spec), 0, 10)

_problems(spec) := [sprintf("%s: %s%s", [place, message, _known(spec.policy, message)]) |
	startswith(spec.policy, "bridge.guardrails.")
	data.bridge_settings.schemas[spec.policy]
	some [place, parameters] in array.concat(
		[["parameters", object.get(spec, "parameters", {})]],
		[[sprintf("parameterSelection[%d].parameters", [number]), object.get(entry, "parameters", {})] |
			some number, entry in spec.parameterSelection
		],
	)
	some message in schema.problems(spec.policy, parameters)
]

# Where no name is like the unknown one: those that begin with it, otherwise all.
_known(policy, message) := sprintf("; did you mean %q?", [longer[0]]) if {
	names := _unlike(policy, message)
	longer := [name | some name in names; startswith(name, split(message, `"`)[1])]
	longer != []
} else := sprintf("; the guardrail has %s", [concat(", ", names)]) if {
	names := _unlike(policy, message)
	names != []
} else := ""

_unlike(policy, message) := sort(object.keys(data.bridge_settings.schemas[policy].properties)) if {
	startswith(message, "unknown field")
	not contains(message, "did you mean")
}
