package bridge.status

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
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
	"ancestors": [_entry(policy_key, entry) | some entry in _with_count(entries_shown, count(all_entries) - room)],
	"unreported": sort({place |
		some entry in array.slice(all_entries, room, count(all_entries))
		some place in outcomes.places(entry.ancestor, "")
	}),
} if {
	all_entries := array.concat(_reachable_entries(policy_key, tallies), _ref_entries(policy_key, tallies))
	room := max([0, ancestor_bound - _foreign_count(policy_key)])
	entries_shown := array.slice(all_entries, 0, room)
}

_reachable_entries(policy_key, tallies) := [{"ancestor": key, "conditions": conditions(policy_key, own)} |
	some key in sort(_ancestor_keys(tallies))
	own := [tally | some tally in tallies; tally.ancestor == key]
]

_ancestor_keys(tallies) := {tally.ancestor | some tally in tallies} - {""}

# The result of each ref by itself, once for each target.
_ref_entries(policy_key, tallies) := [{"ancestor": key, "conditions": _joint_conditions(entries[key])} |
	some key in [found | some index, found in order; not found in array.slice(order, 0, index)]
] if {
	ref_entries := [entry |
		some verdict in attachment.verdicts(policy_key)
		some entry in _entries_of_ref(policy_key, verdict, tallies)
		not entry.key in _ancestor_keys(tallies)
	]
	order := [entry.key | some entry in ref_entries]
	entries := {key: same | some key in order; same := [entry | some entry in ref_entries; entry.key == key]}
}

# The paths of an accepted ref without an ancestor, if it has any.
_entries_of_ref(policy_key, verdict, tallies) := {{"key": node, "conditions": conditions(policy_key, own)} |
	node := attachment.place(keys.parse(policy_key).type, verdict.ref.key)
	own := [tally | some tally in tallies; node in tally.targets]
	count(_ancestor_keys(own)) == 0
} if {
	verdict.reason == "Accepted"
}

# A policy in conflict has the ancestors that it would have otherwise, if these have no entry (GEP-1897).
_entries_of_ref(policy_key, verdict, tallies) := {{"key": key, "conditions": [with_generation(policy_key, condition)]} |
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

_with_count(entries_shown, left_out) := entries_shown if left_out <= 0

_with_count(entries_shown, left_out) := array.concat(
	array.slice(entries_shown, 0, count(entries_shown) - 1),
	[object.union(entry, {"conditions": [_condition_with_count(condition, left_out) | some condition in entry.conditions]}) |
		some entry in array.slice(entries_shown, count(entries_shown) - 1, count(entries_shown))
	],
) if {
	left_out > 0
}

_condition_with_count(condition, _) := condition if condition.type != "Accepted"

_condition_with_count(condition, left_out) := object.union(condition, {"message": message}) if {
	condition.type == "Accepted"
	message := fit(sprintf("%d more ancestors are not shown, for a status has room for %d. %s", [
		left_out,
		ancestor_bound,
		condition.message,
	]))
}

_entry(policy_key, entry) := {
	"ancestorRef": _reference(entry.ancestor),
	"controllerName": _controller(policy_key),
	"conditions": entry.conditions,
}

_controller(policy_key) := object.get(kinds.of_policy(policy_key), "controllerName", "")

_reference(key) := object.union_n([
	{"group": group, "kind": parts.kind, "name": parts.name},
	{"namespace": parts.namespace | parts.namespace != "-"},
	{"sectionName": parts.section | parts.section != ""},
]) if {
	parts := keys.parse(key)
	group := {true: "", false: parts.group}[parts.group == "core"]
}

# The number of entries of other writers.
_foreign_count(policy_key) := count([entry |
	some entry in current_ancestors(policy_key)
	not _is_ours(policy_key, entry)
])

# METADATA
# description: The entries of status.ancestors that a policy has now; none where that is not a list.
current_ancestors(policy_key) := entries if {
	entries := lookup.get(policy_key).status.ancestors
	is_array(entries)
} else := []

_is_ours(policy_key, entry) if entry.controllerName == _controller(policy_key)
