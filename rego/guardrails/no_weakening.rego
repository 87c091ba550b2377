# METADATA
# title: No weakening
# description: |
#   A field of the effective policies of `kinds` that was in effect before a change must be in effect after it, whatever
#   its value; with `fields` (JSON pointers) only these. Judges changes (admission, `bridge analyze`, `changes` of a test),
#   and finds nothing in what exists.
package bridge.guardrails.no_weakening

import data.bridge.effective_targets

violations_at(target, parameters, _) := {{"message": message, "severity": "unknown"} |
	some kind in object.get(parameters, "kinds", [""])
	some field in object.get(parameters, "fields", ["/"])
	message := effective_targets.misspelled(kind, field)
} | {found |
	some kind in parameters.kinds
	former := target.before[kind]
	effect := object.get(target.policies, kind, {})
	former != effect
	some found in _found(kind, former, effect, object.get(parameters, "fields", [""]))
}

_found(kind, former, effect, fields) := {{"message": message, "severity": "unknown"} |
	some pointer, _ in former.origins
	_counts(pointer, fields)
	message := sprintf("%s is unknown: %s", [kind, effect.unknown])
} if {
	effect.unknown
} else := {{"message": message, "severity": "high", "field": pointers[0], "policies": {policy}, "extent": pointers} |
	lost := {pointer: origin |
		some pointer, origin in former.origins
		_counts(pointer, fields)
		not _is_in_effect(effect, pointer)
	}
	some policy in {owner | some origin in lost; some owner in effective_targets.owners(origin)}
	pointers := sort({pointer | some pointer, origin in lost; policy in effective_targets.owners(origin)})
	message := sprintf("what %s sets is no longer in effect: %s", [
		effective_targets.described(policy),
		concat(", ", pointers),
	])
}

_counts(pointer, fields) if {
	some field in fields
	effective_targets.is_below(pointer, field)
}

_is_in_effect(effect, pointer) if effect.origins[pointer]

_is_in_effect(effect, pointer) if {
	some other, _ in effect.origins
	effective_targets.is_below(other, pointer)
}
