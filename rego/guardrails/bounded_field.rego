# METADATA
# title: Bounded field
# description: |
#   The `field` (a JSON pointer) of the effective policy of `kind` must be at least `minimum`, at most `maximum` and one
#   of `allowed`, as far as these are given. Values of one type are compared by their size: numbers, Kubernetes quantities,
#   durations, and what the kind describes. With `required`, the field must be in effect.
package bridge.guardrails.bounded_field

import data.bridge.effective
import data.bridge.effective_targets
import data.bridge.kinds
import data.bridge.lib.quantities

violations_at(target, parameters, _) := _found(effective_targets.effect(target.policies, parameters), parameters)

# A function of what is in effect, so OPA computes it once for all targets with the same.
_found(effect, parameters) := effective_targets.unknown(effect, parameters) if {
	true
} else := {{"message": "parameters: minimum, maximum, allowed or required is missing", "severity": "unknown"}} if {
	object.keys(parameters) & {"minimum", "maximum", "allowed"} == set()
	not parameters.required
} else := {{"message": message, "severity": "high", "field": parameters.field} |
	object.get(parameters, "required", false)
	message := sprintf("%s of %s is not in effect", [effective.field_name(parameters.field), _kind(parameters)])
} if {
	not effective.has_value(effect, parameters.field)
} else := {{"message": message, "severity": "medium", "field": found.name, "policies": found.policies, "extent": extent} |
	some found in effective.values_at(effect, parameters.field)
	some wanted, extent in _unmet(found.value, kinds.quantity_at(parameters.kind, found.path), parameters)
	message := sprintf("%s of %s must be %s", [effective.field_name(found.name), _kind(parameters), wanted])
}

_kind(parameters) := split(parameters.kind, "/")[1]

# The bounds that a value does not meet, each with how far it is from it.
_unmet(value, described, parameters) := object.union_n([
	{sprintf("at least %v, not %v%s", [bound, value, quantities.remark(value, bound, described)]): {"minimum": _distance(value, bound, described)} |
		bound := parameters.minimum
		not quantities.is_at_least(value, bound, described)
	},
	{sprintf("at most %v, not %v%s", [bound, value, quantities.remark(value, bound, described)]): {"maximum": _distance(value, bound, described)} |
		bound := parameters.maximum
		not quantities.is_at_most(value, bound, described)
	},
	{sprintf("one of %v, not %v", [parameters.allowed, value]): {"allowed": json.marshal(value)} |
		parameters.allowed
		not value in parameters.allowed
	},
])

_distance(value, bound, described) := quantities.distance(value, bound, described) if {
	true
} else := json.marshal(value)
