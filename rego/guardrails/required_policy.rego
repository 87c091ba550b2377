# METADATA
# title: Required policy
# description: |
#   A policy of one of `kinds` must be in effect, with `field` (a JSON pointer) if it is given, where a request of the
#   outside can arrive: at targets with a hostname that none of `internalHostnames` covers.
package bridge.guardrails.required_policy

import data.bridge.effective
import data.bridge.effective_targets

violations_at(target, parameters, _) := {{"message": "parameters.kinds must be a list of policy kinds", "severity": "unknown"}} if {
	not parameters.kinds[0]
} else := set() if {
	_is_met(target.policies, parameters)
} else := unknown if {
	unknown := {{"message": sprintf("%s is unknown: %s", [kind, why]), "severity": "unknown"} |
		some kind in parameters.kinds
		why := target.policies[kind].unknown
	}
	unknown != set()
} else := _missing(target.policies, public, parameters) if {
	target.gateway
	public := _public(target.hostnames, object.get(parameters, "internalHostnames", []))
	public != []
} else := set()

_missing(effects, public, parameters) := misspelled if {
	field := object.get(parameters, "field", "")
	misspelled := {{"message": message, "severity": "unknown"} |
		some kind in parameters.kinds
		message := effective_targets.misspelled(kind, object.get({"": "/"}, field, field))
	}
	misspelled != set()
} else := {{"message": message, "severity": "high", "policies": _others(effects, parameters.kinds), "extent": public}} if {
	message := sprintf("no %s is in effect for %s", [_wanted(parameters), concat(", ", public)])
}

_public(hostnames, internal) := [name | some name in sort(hostnames); not _is_internal(name, internal)]

_is_internal(name, internal) if {
	some other in internal
	effective_targets.covers(lower(other), name)
}

_is_met(effects, parameters) if {
	some kind in parameters.kinds
	effective.has_value(effects[kind], object.get(parameters, "field", ""))
}

# The policies of these kinds that are in effect and lack the field.
_others(effects, kinds) := {policy |
	some kind in kinds
	some policy, outcome in effects[kind].outcomes
	outcome != "Overridden"
}

_wanted(parameters) := sprintf("%s%s", [
	concat(" or ", [split(kind, "/")[1] | some kind in parameters.kinds]),
	concat("", [sprintf(" with %s", [effective.field_name(field)]) | field := parameters.field]),
])
