# METADATA
# title: Same value
# description: |
#   An object that requests reach through several Gateways has the same value of the `field` (a JSON pointer) of the
#   effective policy of `kind` on every path. Its Constraint matches Services, or routes.
package bridge.guardrails.same_value

import data.bridge.effective
import data.bridge.effective_targets

violations_at(target, parameters, targets) := effective_targets.unknown(effective_targets.effect(target.policies, parameters), parameters) if {
	true
} else := {{"message": message, "severity": "medium", "field": parameters.field, "extent": count({one.values | some one in ways})} |
	ways := _ways(target.target, parameters, targets)
	count({one.gateway | some one in ways}) > 1

	# If two paths differ, the later one is reported.
	[place] := [place | some place, one in ways; one.path == target.path]
	here := ways[place]
	there := [one | some one in array.slice(ways, 0, place); one.values != here.values][0]
	message := sprintf("%s of %s is %v, and %v via %s", [
		effective.field_name(parameters.field),
		split(parameters.kind, "/")[1],
		_text(here.values - there.values, parameters.field),
		_text(there.values - here.values, parameters.field),
		effective_targets.described(_branch(there, here)),
	])
}

# The paths through Gateways to an object, with the values of the field. OPA computes it once for all of them.
_ways(node, parameters, targets) := [{"path": other.path, "gateway": other.gateway, "values": values} |
	some other in targets
	other.target == node
	other.gateway
	values := {[found.name, found.value] | some found in effective.values_at(effective_targets.effect(other.policies, parameters), parameters.field)}
]

_branch(one, other) := one.gateway if {
	one.gateway != other.gateway
} else := [node | some place, node in one.path; not other.path[place] == node][0]

_text(values, _) := "not set" if values == set()

_text(values, field) := concat(", ", [_shown(name, value, field) | some [name, value] in values]) if values != set()

_shown(field, value, field) := sprintf("%v", [value])

_shown(name, value, field) := sprintf("%v at %s", [value, effective.field_name(name)]) if name != field
