# METADATA
# title: Parameters of guardrails
# description: |
#   What is wrong with the parameters of Constraints of shipped guardrails, by the schemas in `parameters.yaml`: a misspelled
#   name would pass everything. Every bundle has this package.
package bridge.guardrail_parameters

import data.bridge.by_target
import data.bridge.constraints
import data.bridge.lib.schema

# METADATA
# description: The problems of the parameters of an active Constraint, if there are any.
problems[name] := found if {
	some name, spec in constraints.active_constraints
	found := constraints.fact(name, "parameters")
	found != []
	not spec.policy in by_target.own
}

# METADATA
# description: The problems of a Constraint's parameters, at most ten, if its policy is a shipped guardrail.
problems_of(spec) := array.slice(_problems(spec), 0, 10)

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
