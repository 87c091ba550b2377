package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `current_statuses`: the current `{status, annotations, resourceVersion}` of each of `objects`, by key; deleted
#   objects are absent.
# entrypoint: true
current_statuses := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := {key: current_status(lookup.get(key)) | some key in input.objects}

# METADATA
# description: |
#   `marked_objects`: the objects that have a condition or an annotation of the bridge in any place, including those of
#   the policy kinds in `former`. It scans all objects, and is meant for one query after each full sync and after a
#   changed policy kind.
# entrypoint: true
marked_objects := {key |
	types := reporting.our_types(queries.former_kinds)
	some group, kind, namespace, name
	obj := data.objects[group][kind][namespace][name]
	reporting.shows_any(obj, types)
	key := concat("/", [group, kind, namespace, name])
}
