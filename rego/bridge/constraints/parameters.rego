package bridge.constraints

import data.bridge.constraints.by_target
import data.bridge.lib.likeness
import data.bridge.lib.schema

# METADATA
# description: The problems of the parameters of an active Constraint, if there are any.
parameter_problems[name] := found if {
	some name, spec in active_constraints
	found := _stored_or_own(name, spec)
	found != []
}

# Other modules declare the parameters of an admin's guardrail, so nothing about them is stored with the Constraint.
_stored_or_own(name, spec) := fact(name, "parameters") if {
	not spec.policy in by_target.own
} else := current_parameter_problems(spec)

# METADATA
# description: The problems of a Constraint's parameters by the guardrails that are loaded now, at most ten.
current_parameter_problems(spec) := parameter_problems_of(spec) if {
	not spec.policy in by_target.own
} else := problems if {
	declared := by_target.parameter_schemas[spec.policy]
	_is_usable(declared)
	problems := array.slice(_problems_as_written(spec), 0, 10) with data.bridge_settings.schemas as {spec.policy: declared}
} else := [sprintf("parameters_schema of %s must be a JSON schema: an object without $ref", [spec.policy])] if {
	by_target.parameter_schemas[spec.policy]
} else := array.slice(_never_read(spec), 0, 10)

# METADATA
# description: The problems of a Constraint's parameters, at most ten, if its policy is a shipped guardrail.
parameter_problems_of(spec) := array.slice(_problems(spec), 0, 10) if {
	startswith(spec.policy, "bridge.guardrails.")
	data.bridge_settings.schemas[spec.policy]
} else := []

_problems(spec) := [sprintf("%s: %s%s", [place, message, _known(spec.policy, message)]) |
	some [place, parameters] in _places(spec)
	some message in schema.problems(spec.policy, parameters)
]

# In a schema of an admin, an object has further fields unless the schema says otherwise.
_problems_as_written(spec) := [sprintf("%s: %s%s", [place, message, _known(spec.policy, message)]) |
	some [place, parameters] in _places(spec)
	some message in schema.problems_as_written(spec.policy, parameters)
]

_places(spec) := array.concat(
	[["parameters", object.get(spec, "parameters", {})]],
	[[sprintf("parameterSelection[%d].parameters", [number]), object.get(entry, "parameters", {})] |
		some number, entry in spec.parameterSelection
	],
)

# OPA would fetch a reference.
_is_usable(declared) if {
	is_object(declared)
	not _has_reference(declared)
	json.verify_schema(declared)[0]
}

_has_reference(declared) if {
	walk(declared, [path, value])
	is_string(value)
	array.slice(path, count(path) - 1, count(path)) == ["$ref"]
}

# A name that the Rego does not read and that is like one that it reads is misspelled. Another one may be for people.
_never_read(spec) := [message |
	mentioned := by_target.mentions[spec.policy]
	some [place, parameters] in _places(spec)
	some name in object.keys(parameters)
	not name in mentioned
	hint := likeness.hint(name, mentioned)
	hint != ""
	message := sprintf(
		"%s: unknown parameter %q%s (%s never mentions it; a rule parameters_schema can declare it)",
		[place, name, hint, spec.policy],
	)
]

# Where no name is like the unknown one: those that begin with it, otherwise all.
_known(policy, message) := sprintf("; did you mean %q?", [longer[0]]) if {
	names := _unlike(policy, message)
	longer := [name | some name in names; startswith(name, split(message, `"`)[1])]
	longer != []
} else := sprintf("; the guardrail's parameters are %s", [concat(", ", names)]) if {
	names := _unlike(policy, message)
	names != []
} else := ""

_unlike(policy, message) := sort(object.keys(data.bridge_settings.schemas[policy].properties)) if {
	startswith(message, "unknown field")
	not contains(message, "did you mean")
}
