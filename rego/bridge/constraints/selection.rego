package bridge.constraints

# METADATA
# description: |
#   The parameters for a subject that the Constraint matches: `{parameters}`, or `{unselected}` if no entry of
#   parameterSelection matches and that has its own effect: allow, warn or deny.
selection(spec, it) := {"parameters": _parameters(spec, chosen)} if {
	chosen := _chosen(spec, it)
	count(chosen) > 0
} else := {"parameters": object.get(spec, "parameters", {})} if {
	no_match(spec) == "proceed"
} else := {"unselected": no_match(spec)}

# METADATA
# description: The action if no entry of parameterSelection matches.
no_match(spec) := object.get(spec, "onParameterSelectionNoMatch", "proceed")

_parameters(spec, chosen) := merge_parameters(array.concat(
	[object.get(spec, "parameters", {})],
	[entry.parameters | some entry in chosen],
))

_chosen(spec, it) := array.slice(fitting, 0, _bound(spec)) if {
	fitting := [entry |
		some entry in object.get(spec, "parameterSelection", [])
		matches(object.get(entry, "match", {}), it)
	]
}

_bound(spec) := count(spec.parameterSelection) if {
	spec.parameterSelectionBehavior == "MatchAny"
} else := 1
