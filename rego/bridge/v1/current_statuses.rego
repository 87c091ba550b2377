package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `current_statuses`: what each of `objects` shows now, `{status, annotations, resourceVersion}` by key; what is gone is absent.
# entrypoint: true
current_statuses := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := {key: current_status(lookup.get(key)) | some key in input.objects}

# METADATA
# description: |
#   `marked_objects`: the objects that show a condition or an annotation of ours in any place, also such as the policy kinds in
#   `former` set. Scans all objects, so it is asked once a fill and when a policy kind is described otherwise.
# entrypoint: true
marked_objects := {key |
	types := reporting.our_types(queries.former_kinds)
	some group, kind, namespace, name
	obj := data.objects[group][kind][namespace][name]
	reporting.shows_any(obj, types)
	key := concat("/", [group, kind, namespace, name])
}
