package bridge.status

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The status that a policy should show, `{policy, policyKind, mode, controllerName?, conditions}` or, where the kind
#   keeps it by ancestor, `{…, ancestors}`. Accepted=False carries no Programmed (semantics S1).
of_policy(policy_key, tallies) := object.union(_about(policy_key), {"conditions": conditions(policy_key, tallies)}) if {
	kinds.of_policy(policy_key).statusShape == "Conditions"
}

of_policy(policy_key, tallies) := object.union(_about(policy_key), {"ancestors": ancestors(policy_key, tallies)}) if {
	kinds.of_policy(policy_key).statusShape == "Ancestors"
}

_about(policy_key) := object.union(
	{"policy": policy_key, "policyKind": keys.parse(policy_key).type, "mode": kind.mode},
	{"controllerName": kind.controllerName | kind.controllerName},
) if {
	kind := kinds.of_policy(policy_key)
}

# METADATA
# description: The conditions of a policy from its tallies, each with the generation that it was computed from.
conditions(policy_key, tallies) := [observed(policy_key, condition) |
	some condition in _conditions(policy_key, accepted(policy_key), tallies)
]

_conditions(_, verdict, _) := [verdict] if verdict.status == "False"

_conditions(policy_key, verdict, tallies) := [verdict, programmed(policy_key, tallies)] if verdict.status == "True"

# METADATA
# description: A condition with observedGeneration, where the object has a generation.
observed(key, condition) := object.union(condition, {"observedGeneration": generation}) if {
	generation := lookup.get(key).metadata.generation
} else := condition

# METADATA
# description: |
#   The entries of status.ancestors that are ours, one for each ancestor through which the policy reaches something and
#   one for each target ref that reaches nothing; with those of other controllers at most 16 (semantics S3).
ancestors(policy_key, tallies) := array.slice(array.concat(reached, idle), 0, 16 - _others(policy_key)) if {
	reached := [_ancestor(policy_key, key, conditions(policy_key, own)) |
		some key in sort({tally.ancestor | some tally in tallies})
		own := [tally | some tally in tallies; tally.ancestor == key]
	]
	idle := [_ancestor(policy_key, verdict.ref.key, own) |
		some index, verdict in attachment.verdicts(policy_key)
		_idle(verdict, tallies)
		not verdict.ref.key in {earlier.ref.key | some earlier in array.slice(attachment.verdicts(policy_key), 0, index)}
		own := [observed(policy_key, condition) | some condition in _ref_conditions(policy_key, verdict)]
	]
}

_idle(verdict, _) if verdict.reason != "Accepted"

_idle(_, tallies) if count(tallies) == 0

_ref_conditions(policy_key, verdict) := _conditions(policy_key, accepted(policy_key), []) if verdict.reason == "Accepted"

_ref_conditions(_, verdict) := [object.union(object.remove(verdict, ["ref"]), {"type": "Accepted", "status": "False"})] if {
	verdict.reason != "Accepted"
}

_ancestor(policy_key, key, own) := {
	"ancestorRef": _reference(key),
	"controllerName": object.get(kinds.of_policy(policy_key), "controllerName", ""),
	"conditions": own,
}

_reference(key) := object.union_n([
	{"group": group, "kind": parts.kind, "name": parts.name},
	{"namespace": parts.namespace | parts.namespace != "-"},
	{"sectionName": parts.section | parts.section != ""},
]) if {
	parts := keys.parse(key)
	group := {true: "", false: parts.group}[parts.group == "core"]
}

_others(policy_key) := count([entry |
	some entry in object.get(lookup.get(policy_key), ["status", "ancestors"], [])
	entry.controllerName != object.get(kinds.of_policy(policy_key), "controllerName", "")
])
