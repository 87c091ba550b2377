# METADATA
# title: No weakening
# description: |
#   A field of the effective policies of `kinds` that was in effect before a change must be in effect after it, whatever
#   its value; with `fields` (JSON pointers) only these. Judges changes (admission, `bridge analyze`, `changes` of a test),
#   and finds nothing in what exists.
package bridge.guardrails.no_weakening

import data.bridge.effective_targets

violations contains {"message": message, "severity": "high", "field": fields[0], "policies": {policy}} if {
	some kind in input.parameters.kinds
	not input.policies[kind].unknown
	lost := {pointer: origin |
		some pointer, origin in input.before[kind].origins
		_counts(pointer)
		not _is_in_effect(kind, pointer)
	}
	some policy in {owner | some origin in lost; some owner in effective_targets.owners(origin)}
	fields := sort({pointer | some pointer, origin in lost; policy in effective_targets.owners(origin)})
	message := sprintf("what %s sets is no longer in effect: %s", [
		effective_targets.described(policy),
		concat(", ", fields),
	])
}

violations contains {"message": sprintf("%s is unknown: %s", [kind, why]), "severity": "unknown"} if {
	some kind in input.parameters.kinds
	why := input.policies[kind].unknown
	some pointer, _ in input.before[kind].origins
	_counts(pointer)
}

violations contains {"message": message, "severity": "unknown"} if {
	some kind in object.get(input.parameters, "kinds", [""])
	some field in object.get(input.parameters, "fields", ["/"])
	message := effective_targets.misspelled(kind, field)
}

_counts(_) if not input.parameters.fields

_counts(pointer) if {
	some field in input.parameters.fields
	startswith(concat("", [pointer, "/"]), concat("", [field, "/"]))
}

_is_in_effect(kind, pointer) if input.policies[kind].origins[pointer]

_is_in_effect(kind, pointer) if {
	some other, _ in input.policies[kind].origins
	startswith(other, concat("", [pointer, "/"]))
}
