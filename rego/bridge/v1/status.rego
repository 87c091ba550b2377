package bridge.v1

import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.problems as finding
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   The desired conditions or ancestors of each of `policies`, from `tallies` or else from their outcomes; with `problems`
#   also the result of the query `problems` for each, and when it was `created`.
# entrypoint: true
status := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["policies", "policies"]])
} else := problem if {
	problem := queries.unknown_field({"tallies", "problems", "former"})
} else := [_with_problems(desired) | some key in input.policies; desired := queries.policy_status(key)]

_with_problems(desired) := object.union(desired, {
	"problems": sort(finding.of_policy(desired.policy, outcomes.tallies_of(desired.policy))),
	"created": object.get(lookup.get(desired.policy), ["metadata", "creationTimestamp"], ""),
}) if {
	input.problems
} else := desired

# METADATA
# description: |
#   The desired conditions of each of `objects` that policies affect, one part for each place of its type, from
#   `affectedBy` and `unreported` or else from outcomes.
# entrypoint: true
affected := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := [queries.object_status(key) | some key in input.objects; lookup.get(key)]

# METADATA
# description: The current `{status, annotations, resourceVersion}` of each of `objects`, by key.
# entrypoint: true
current_statuses := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := {key: queries.current_status(lookup.get(key)) | some key in input.objects}

# METADATA
# description: |
#   The objects that have a condition or an annotation of the bridge in any place, including those of the policy kinds in
#   `former`. It scans all objects, and is meant for one query after each full sync and after a changed policy kind.
# entrypoint: true
marked_objects := {key |
	types := reporting.our_types(queries.former_kinds)
	some group, kind, namespace, name
	obj := data.objects[group][kind][namespace][name]
	reporting.shows_any(obj, types)
	key := concat("/", [group, kind, namespace, name])
}

# METADATA
# description: |
#   The desired and the current status of the objects of `items`, pairs of `policy`, for a status as in `status`, or
#   `object`, for marks as in `affected`, and a key. The other inputs are those of these queries.
# entrypoint: true
reports := queries.error("InvalidInput", "items must be a list of pairs, [policy, <key>] or [object, <key>]") if {
	not _are_items(object.get(input, "items", null))
} else := [report | some [what, key] in input.items; report := queries.report(what, key)]

_are_items(items) if {
	is_array(items)
	every item in items {
		[what, key] := item
		what in {"policy", "object"}
		keys.parse(key)
	}
}

# METADATA
# description: |
#   Everything that a bridge with the policy kinds `former` and the field manager `manager` has written into each of
#   `objects` (whole, with metadata.managedFields), by key; an object without traces is absent.
# entrypoint: true
traces := {key: found |
	some obj in input.objects
	key := keys.of(obj)
	found := reporting.traces(obj, input.former, input.manager)
	count(found) > 0
}

# METADATA
# description: |
#   The types of objects that the bridge may write because of active policy kinds, `{status, annotations}`, from those in
#   `replicated` and of the policies themselves. The permissions of a bridge follow from it.
# entrypoint: true
writable_types := problem if {
	problem := queries.problem([["replicated", "types"]])
} else := reporting.writable_types({type | some type in input.replicated})
