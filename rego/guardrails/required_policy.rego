# METADATA
# title: Required policy
# description: |
#   A policy of one of `kinds` must be in effect, with `field` (a JSON pointer) if it is given, where a request of the
#   outside can arrive: at targets with a hostname that none of `internalHostnames` covers.
package bridge.guardrails.required_policy

import data.bridge.coverage
import data.bridge.effective_targets

violations contains {"message": message, "severity": "high", "policies": _others} if {
	input.parameters.kinds[0]
	input.gateway
	public := [name | some name in sort(input.hostnames); not _is_internal(name)]
	public != []
	not _is_met
	not _is_unknown
	message := sprintf("no %s is in effect for %s", [_wanted, concat(", ", public)])
}

violations contains {"message": message, "severity": "unknown"} if {
	some kind in input.parameters.kinds
	why := input.policies[kind].unknown
	not _is_met
	message := sprintf("%s is unknown: %s", [kind, why])
}

violations contains {"message": "parameters.kinds must be a list of policy kinds", "severity": "unknown"} if {
	not input.parameters.kinds[0]
}

_is_internal(name) if {
	some internal in input.parameters.internalHostnames
	effective_targets.covers(internal, name)
}

_is_met if {
	some kind in input.parameters.kinds
	coverage.has_field(input.policies[kind], object.get(input.parameters, "field", ""))
}

_is_unknown if {
	some kind in input.parameters.kinds
	input.policies[kind].unknown
}

# The policies of these kinds that are in effect and lack the field.
_others := {policy |
	some kind in input.parameters.kinds
	some policy, outcome in input.policies[kind].outcomes
	outcome != "Overridden"
}

_wanted := sprintf("%s%s", [
	concat(" or ", [split(kind, "/")[1] | some kind in input.parameters.kinds]),
	concat("", [sprintf(" with %s", [field]) | field := input.parameters.field]),
])
