# METADATA
# title: Bounded field
# description: |
#   The `field` (a JSON pointer) of the effective policy of `kind` must be at least `minimum`, at most `maximum` and one
#   of `allowed`, as far as these are given. Durations such as 1h30m and quantities such as 10Mi are compared by their
#   size. With `required`, the field must be in effect.
package bridge.guardrails.bounded_field

import data.bridge.effective_targets

violations contains {"message": message, "severity": "medium", "field": parameters.field, "policies": _owners} if {
	some word, field in {"at least": "minimum", "at most": "maximum"}
	bound := parameters[field]
	some value in _values
	not _is_within(word, value, bound)
	message := sprintf("%s of %s must be %s %v, not %v", [parameters.field, _kind, word, bound, value])
}

violations contains {"message": message, "severity": "medium", "field": parameters.field, "policies": _owners} if {
	some value in _values
	not value in parameters.allowed
	message := sprintf("%s of %s must be one of %v, not %v", [parameters.field, _kind, parameters.allowed, value])
}

violations contains {"message": message, "severity": "high", "field": parameters.field} if {
	parameters.required
	_values == set()
	not input.policies[parameters.kind].unknown
	message := sprintf("%s of %s is not in effect", [parameters.field, _kind])
}

violations contains {"message": sprintf("%s is unknown: %s", [parameters.kind, why]), "severity": "unknown"} if {
	why := input.policies[parameters.kind].unknown
}

violations contains {"message": message, "severity": "unknown"} if {
	message := effective_targets.misspelled(object.get(input.parameters, "kind", ""), object.get(input.parameters, "field", ""))
}

parameters := input.parameters

_kind := split(parameters.kind, "/")[1]

_values := effective_targets.values(object.get(input.policies, parameters.kind, {}), parameters.field)

_owners := {policy | some policy in effective_targets.owners_at(input.policies[parameters.kind], parameters.field)}

_is_within("at least", value, bound) if effective_targets.size(value) >= effective_targets.size(bound)
_is_within("at most", value, bound) if effective_targets.size(value) <= effective_targets.size(bound)
