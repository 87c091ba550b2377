# METADATA
# title: Same value
# description: |
#   An object that requests reach through several Gateways has the same value of the `field` (a JSON pointer) of the
#   effective policy of `kind` through all of them. Its Constraint matches Services, or routes.
package bridge.guardrails.same_value

import data.bridge.effective_targets

violations contains {"message": message, "severity": "medium", "field": input.parameters.field} if {
	first := [target | some target in input.targets; target.target == input.target; target.gateway][0]
	first.gateway != input.gateway
	[here, there] := [_values(target.policies) | some target in [input, first]]
	here != there
	message := sprintf("%s of %s is %v, and %v via %s", [
		input.parameters.field,
		split(input.parameters.kind, "/")[1],
		_text(here),
		_text(there),
		effective_targets.described(first.gateway),
	])
}

violations contains {"message": sprintf("%s is unknown: %s", [input.parameters.kind, why]), "severity": "unknown"} if {
	why := input.policies[input.parameters.kind].unknown
}

violations contains {"message": message, "severity": "unknown"} if {
	message := effective_targets.misspelled(object.get(input.parameters, "kind", ""), object.get(input.parameters, "field", ""))
}

_values(policies) := effective_targets.values(object.get(policies, input.parameters.kind, {}), input.parameters.field)

_text(values) := {true: "not set", false: concat(", ", [sprintf("%v", [value]) | some value in values])}[values == set()]
