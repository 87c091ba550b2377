# METADATA
# title: Same value
# description: |
#   An object that requests reach through several Gateways has the same value of the `field` (a JSON pointer) of the
#   effective policy of `kind` through all of them. Its Constraint matches Services, or routes.
package bridge.guardrails.same_value

import data.bridge.effective_targets

violations_at(target, parameters, targets) := effective_targets.unknown(effective_targets.effect(target.policies, parameters), parameters) if {
	true
} else := {{"message": message, "severity": "medium", "field": parameters.field, "extent": count(different)} |
	different := {_values(other.policies, parameters) | some other in targets; other.target == target.target; other.gateway}
	first := [other | some other in targets; other.target == target.target; other.gateway][0]
	first.gateway != target.gateway
	[here, there] := [_values(one.policies, parameters) | some one in [target, first]]
	here != there
	message := sprintf("%s of %s is %v, and %v via %s", [
		parameters.field,
		split(parameters.kind, "/")[1],
		_text(here),
		_text(there),
		effective_targets.described(first.gateway),
	])
}

_values(policies, parameters) := effective_targets.values(effective_targets.effect(policies, parameters), parameters.field)

_text(values) := {true: "not set", false: concat(", ", [sprintf("%v", [value]) | some value in values])}[values == set()]
