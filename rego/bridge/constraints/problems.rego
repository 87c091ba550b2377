package bridge.constraints

# METADATA
# description: |
#   All problems of a Constraint's spec, in a stable order. An API server rejects most of them by the CRD's schema; for
#   a folder of manifests this is the only check.
problems(spec) := ["spec is not an object"] if not is_object(spec)

problems(spec) := array.concat(_field_problems(spec), _selection_problems(spec)) if is_object(spec)

# METADATA
# description: Every field of a Constraint's spec, as in its CRD.
fields := {
	"policy",
	"match",
	"enforcementAction",
	"parameters",
	"parameterSelection",
	"parameterSelectionBehavior",
	"onParameterSelectionNoMatch",
}

_values := {
	"enforcementAction": ["deny", "warn", "dryrun"],
	"parameterSelectionBehavior": ["MatchFirst", "MatchAny"],
	"onParameterSelectionNoMatch": ["proceed", "allow", "warn", "deny"],
}

# A package name in Rego syntax.
_package := `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|\["[^"\\]+"\])*$`

_field_problems(spec) := array.flatten([
	[sprintf("spec.%s is not a field of a Constraint", [field]) | some field in sort(object.keys(spec) - fields)],
	["spec.policy must be the name of a package, as its Rego declares it" | not _is_package(object.get(spec, "policy", null))],
	[sprintf("spec.%s must be one of %s", [field, concat(", ", allowed)]) |
		some field, allowed in _values
		not object.get(spec, field, allowed[0]) in allowed
	],
	["spec.parameters must be an object" | not is_object(object.get(spec, "parameters", {}))],
	match_problems("spec.match", object.get(spec, "match", {})),
])

_is_package(policy) if regex.match(_package, policy)

_selection_problems(spec) := ["spec.parameterSelection must be a list of {match, parameters}"] if {
	not is_array(object.get(spec, "parameterSelection", []))
}

_selection_problems(spec) := array.concat(
	["spec.onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches" |
		object.get(spec, "parameterSelection", []) == []
		not object.get(spec, "onParameterSelectionNoMatch", "proceed") == "proceed"
	],
	[message |
		some index, entry in spec.parameterSelection
		some message in _entry_problems(sprintf("spec.parameterSelection[%d]", [index]), entry)
	],
) if {
	is_array(object.get(spec, "parameterSelection", []))
}

_entry_problems(place, entry) := [sprintf("%s must be an object of match and parameters", [place])] if not is_object(entry)

_entry_problems(place, entry) := array.flatten([
	[sprintf("%s.%s is not a field of an entry: it has match and parameters", [place, field]) |
		some field in sort(object.keys(entry) - {"match", "parameters"})
	],
	[sprintf("%s.parameters must be an object", [place]) | not is_object(object.get(entry, "parameters", null))],
	match_problems(concat(".", [place, "match"]), object.get(entry, "match", {})),
]) if {
	is_object(entry)
}
