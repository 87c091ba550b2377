package bridge.status

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes

# METADATA
# description: The maximum number of entries in status.ancestors, of all controllers (GEP-713, PolicyAncestorStatus).
ancestor_bound := 16

# METADATA
# description: |
#   The bridge's entries of status.ancestors, `{ancestors, unreported}`: one for each ancestor of the policy's effective
#   targets, by key, and then one for each target ref that has none or is rejected. Together with those of other
#   controllers they are at most 16; the last one states the number of omitted entries, and `unreported_policies` has
#   the places of those (semantics S3; GEP-713, "Using upstream PolicyAncestorStatus struct").
ancestors(policy_key, tallies) := {
	"ancestors": [_entry(policy_key, entry.ancestor, [_counted(condition, left_out) | some condition in entry.conditions]) |
		some place, entry in array.slice(all_entries, 0, room)
		left_out := {true: count(all_entries) - room, false: 0}[place == (room - 1)]
	],
	"unreported": sort({place |
		some entry in array.slice(all_entries, room, count(all_entries))
		some place in outcomes.places(entry.ancestor, "")
	}),
} if {
	all_entries := array.concat(_reachable_entries(policy_key, tallies), _ref_entries(policy_key, tallies))
	foreign := [entry | some entry in list_at(policy_key, ["status", "ancestors"]); not entry.controllerName == _controller(policy_key)]
	room := max([0, ancestor_bound - count(foreign)])
}

_counted(condition, left_out) := object.union(condition, {"message": fit(message)}) if {
	left_out > 0
	condition.type == "Accepted"
	shown := sprintf("%d more ancestors are not shown, for a status has room for %d", [left_out, ancestor_bound])
	message := concat(". ", [shown, condition.message])
} else := condition

_reachable_entries(policy_key, tallies) := [{"ancestor": key, "conditions": conditions(policy_key, own)} |
	some key in sort(_ancestor_keys(tallies))
	own := [tally | some tally in tallies; tally.ancestor == key]
]

_ancestor_keys(tallies) := {tally.ancestor | some tally in tallies} - {""}

# The result of each ref by itself, once for each target.
_ref_entries(policy_key, tallies) := [{"ancestor": key, "conditions": _joint_conditions(same)} |
	some index, entry in entries
	key := entry.ancestor
	not key in {earlier.ancestor | some earlier in array.slice(entries, 0, index)}
	same := [other | some other in entries; other.ancestor == key]
] if {
	entries := [entry |
		some verdict in attachment.verdicts(policy_key)
		some entry in _entries_of_ref(policy_key, verdict, tallies)
		not entry.ancestor in _ancestor_keys(tallies)
	]
}

# The paths of an accepted ref without an ancestor, if it has any.
_entries_of_ref(policy_key, verdict, tallies) := {{"ancestor": node, "conditions": conditions(policy_key, own)} |
	node := attachment.place(keys.parse(policy_key).type, verdict.ref.key)
	own := [tally | some tally in tallies; node in tally.targets]
	count(_ancestor_keys(own)) == 0
} if {
	verdict.reason == "Accepted"
}

# A policy in conflict has the ancestors that it would have otherwise, if these have no entry (GEP-1897).
_entries_of_ref(policy_key, verdict, tallies) := {{"ancestor": key, "conditions": [with_generation(policy_key, condition)]} |
	condition := {"type": "Accepted", "status": "False", "reason": verdict.reason, "message": verdict.message}
	some key in _keys_of_rejected(policy_key, verdict, tallies)
} if {
	verdict.reason != "Accepted"
}

_keys_of_rejected(policy_key, verdict, tallies) := found if {
	verdict.reason == "Conflicted"
	policy_kind := keys.type_of(policy_key)
	outcomes.keeps_status_above(policy_kind)
	node := attachment.place(policy_kind, verdict.ref.key)
	found := outcomes.ancestors(policy_kind, [node], [keys.object_of(node)]) - _ancestor_keys(tallies)
	count(found) > 0
} else := {verdict.ref.key}

# Verdicts without an object are reported under the policy's own name; an entry has one Accepted condition, which states
# all of them.
_joint_conditions(entries) := [object.union(condition, {"message": fit(concat("; ", messages))}) |
	some condition in entries[0].conditions
] if {
	messages := [entry.conditions[0].message | some entry in entries; count(entry.conditions) == 1]
	count(messages) == count(entries)
	count({message | some message in messages}) > 1
} else := entries[0].conditions

_entry(policy_key, ancestor, conditions_there) := {
	"ancestorRef": _reference(keys.parse(ancestor)),
	"controllerName": _controller(policy_key),
	"conditions": conditions_there,
}

_controller(policy_key) := object.get(kinds.of_policy(policy_key), "controllerName", "")

_reference(parts) := object.union_n([
	{"group": {true: "", false: parts.group}[parts.group == "core"], "kind": parts.kind, "name": parts.name},
	{"namespace": parts.namespace | parts.namespace != "-"},
	{"sectionName": parts.section | parts.section != ""},
])
