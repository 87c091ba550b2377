package bridge.v1

import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.status as reporting

# METADATA
# description: |
#   `reports`: what the objects of `items`, `[what, key]` pairs, should show and do show, a list of `{item, wanted, shown}`.
#   `what` is `policy` for a status as in `status`, or `object` for marks as in `affected`; `shown` is as in `shown`. The other
#   inputs are those of these queries. An object that is gone, a policy that is being deleted and a policy of a kind in mode
#   Observe have no report.
# entrypoint: true
reports := {"error": {"code": "InvalidInput", "message": message}} if {
	not _are_items(object.get(input, "items", null))
	message := "items must be a list of pairs, [policy, <key>] or [object, <key>]"
} else := [made |
	some item in input.items
	made := report(item, _reported(item))
]

_are_items(items) if {
	is_array(items)
	every item in items {
		[what, key] := item
		what in {"policy", "object"}
		keys.parse(key)
	}
}

_reported(["policy", key]) := managed(status_of(key, object.get(input.tallies, key, []))) if input.tallies

_reported(["policy", key]) := managed(status_of(key, outcomes.tallies(key))) if not input.tallies

_reported(["object", key]) := wanted_of_object(key, object.get(input.acting, key, {}), unreported) if {
	input.acting
	unreported := object.get(input, ["unreported", key], {})
}

_reported(["object", key]) := wanted_of_object(key, reporting.acting(key), reporting.unreported(key)) if not input.acting

# METADATA
# description: What an object should show, with what it shows. Undefined for an object that is gone.
report(item, wanted) := {"item": item, "wanted": wanted, "shown": seen(lookup.get(item[1]))}

# METADATA
# description: What an object shows, in the parts that the bridge may write.
seen(obj) := {
	"status": object.get(obj, "status", {}),
	"annotations": object.get(obj.metadata, "annotations", {}),
	"resourceVersion": object.get(obj.metadata, "resourceVersion", ""),
}

# METADATA
# description: A status that the bridge writes. Undefined for a policy kind in mode Observe.
managed(wanted) := wanted if wanted.mode == "Manage"

# METADATA
# description: The marks of an object, from the policies that act there.
wanted_of_object(key, acting, unreported) := reporting.affected(key, acting, unreported, object.get(input, "former", []))
