# METADATA
# title: Bounded field
# description: |
#   The `field` (a JSON pointer) of the effective policy of `kind` must be at least `minimum`, at most `maximum` and one
#   of `allowed`, as far as these are given. Durations such as 1h30m and quantities such as 10Mi are compared by their
#   size. With `required`, the field must be in effect.
package bridge.guardrails.bounded_field

import data.bridge.effective_targets

violations_at(target, parameters, _) := _found(effective_targets.effect(target.policies, parameters), parameters)

# A function of what is in effect, so OPA computes it once for all targets with the same.
_found(effect, parameters) := effective_targets.unknown(effect, parameters) if {
	true
} else := {{"message": "parameters: minimum, maximum, allowed or required is missing", "severity": "unknown"}} if {
	object.keys(parameters) & {"minimum", "maximum", "allowed", "required"} == set()
} else := {{"message": message, "severity": "high", "field": parameters.field} |
	object.get(parameters, "required", false)
	message := sprintf("%s of %s is not in effect", [parameters.field, _kind(parameters)])
} if {
	effective_targets.values(effect, parameters.field) == set()
} else := {{"message": message, "severity": "medium", "field": parameters.field, "policies": owners, "extent": extent} |
	some value in effective_targets.values(effect, parameters.field)
	some wanted, extent in _unmet(value, parameters)
	owners := effective_targets.owners_at(effect, parameters.field)
	message := sprintf("%s of %s must be %s, not %v", [parameters.field, _kind(parameters), wanted, value])
}

_kind(parameters) := split(parameters.kind, "/")[1]

# The bounds that a value does not meet, each with how far it is from it.
_unmet(value, parameters) := object.union_n([
	{sprintf("at least %v", [bound]): {"minimum": _distance(value, bound)} |
		bound := parameters.minimum
		not _is_ordered(bound, value)
	},
	{sprintf("at most %v", [bound]): {"maximum": _distance(value, bound)} |
		bound := parameters.maximum
		not _is_ordered(value, bound)
	},
	{sprintf("one of %v", [parameters.allowed]): {"allowed": json.marshal(value)} |
		parameters.allowed
		not value in parameters.allowed
	},
])

_distance(value, bound) := abs(effective_targets.size(value) - effective_targets.size(bound)) if {
	true
} else := json.marshal(value)

_is_ordered(low, high) if effective_targets.size(low) <= effective_targets.size(high)
