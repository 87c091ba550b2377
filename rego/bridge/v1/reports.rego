package bridge.v1

import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.status as reporting

# METADATA
# description: |
#   `reports`: the desired and the current status of the objects of `items`, `[what, key]` pairs, a list of `{item,
#   desired, current}`. `what` is `policy` for a status as in `status`, or `object` for marks as in `affected`;
#   `current` is as in `current_statuses`. The other inputs are those of these queries. A deleted object, a policy that
#   is being deleted and a policy of a kind in mode Observe have no report.
# entrypoint: true
reports := {"error": {"code": "InvalidInput", "message": message}} if {
	not _are_items(object.get(input, "items", null))
	message := "items must be a list of pairs, [policy, <key>] or [object, <key>]"
} else := [entry |
	some item in input.items
	entry := report(item, _desired_status(item))
]

_are_items(items) if {
	is_array(items)
	every item in items {
		[what, key] := item
		what in {"policy", "object"}
		keys.parse(key)
	}
}

_desired_status(["policy", key]) := status_to_write(status_of(key, object.get(input.tallies, key, []))) if input.tallies

_desired_status(["policy", key]) := status_to_write(status_of(key, outcomes.tallies(key))) if not input.tallies

_desired_status(["object", key]) := affected_status_of(key, object.get(input.affectedBy, key, {}), unreported) if {
	input.affectedBy
	unreported := object.get(input, ["unreported", key], {})
}

_desired_status(["object", key]) := affected_status_of(key, reporting.affecting_policies(key), reporting.unreported_policies(key)) if not input.affectedBy

# METADATA
# description: The desired status of an object, with its current one. Undefined for a deleted object.
report(item, desired) := {"item": item, "desired": desired, "current": current_status(lookup.get(item[1]))}

# METADATA
# description: The current status of an object, in the parts that the bridge may write.
current_status(obj) := {
	"status": object.get(obj, "status", {}),
	"annotations": object.get(obj.metadata, "annotations", {}),
	"resourceVersion": object.get(obj.metadata, "resourceVersion", ""),
}

# METADATA
# description: A status that the bridge writes. Undefined for a policy kind in mode Observe.
status_to_write(desired) := desired if desired.mode == "Manage"

# METADATA
# description: The marks of an object, from the policies that act there.
affected_status_of(key, affecting, unreported) := reporting.affected_status(key, affecting, unreported, object.get(input, "former", []))
