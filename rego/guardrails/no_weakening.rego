# METADATA
# title: No weakening
# description: |
#   A field of the effective policies of `kinds` that was in effect before a change must be in effect after it, whatever
#   its value; with `fields` (JSON pointers) only these. Judges changes (admission, `pbctl analyze`, `changes` of a test),
#   and finds nothing in what exists.
package bridge.guardrails.no_weakening

import data.bridge.effective
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

_found(kind, former, effect, fields) := {{"message": sprintf("%s is unknown before the change: %s", [kind, former.unknown]), "severity": "unknown"}} if {
	former.unknown
	not former.known
} else := {{"message": message, "severity": "unknown"} |
	some field in fields
	effective.has_value(_known(former), field)
	message := sprintf("%s is unknown: %s", [kind, effect.unknown])
} if {
	effect.unknown != object.get(former, "unknown", "")
} else := _lost(kind, _known(former), _known(effect), fields)

# As far as it is known what is in effect.
_known(effect) := object.get(effect, "known", effect)

_lost(kind, former, effect, fields) := {{"message": message, "severity": "unknown"} |
	some field in fields
	message := sprintf("%s of %s cannot be judged: %s", [effective.field_name(field), kind, effective.obstacle(former, field)])
} | {{"message": message, "severity": "high", "field": paths[0], "policies": {policy}, "extent": paths} |
	lost := {found |
		some field in fields
		some found in effective.leaves_at(former, field)
		_is_lost(former, effect, found)
	}
	some policy in {policy | some found in lost; some policy in found.policies}
	paths := sort({found.path | some found in lost; policy in found.policies})
	message := sprintf("fields of %s are no longer in effect: %s", [
		effective_targets.described(policy),
		concat(", ", [effective.field_name(path) | some path in paths]),
	])
}

_is_lost(_, effect, found) if not effective.has_value(effect, found.path)

# Where every policy applies, another one's value at the field does not replace it.
_is_lost(former, effect, found) if {
	is_array(former.spec)
	left := effective.values_at(effect, found.path)
	count(left) < count(effective.values_at(former, found.path))
	every value in left {
		every policy in found.policies {
			not policy in value.policies
		}
	}
}
