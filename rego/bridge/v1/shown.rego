package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `shown`: what each of `objects` shows now, `{status, annotations, resourceVersion}` by key; what is gone is absent.
# entrypoint: true
shown := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := {key: seen(lookup.get(key)) | some key in input.objects}

# METADATA
# description: |
#   `marked`: the objects that show a condition or an annotation of ours in any place, also such as the policy kinds in
#   `former` set. Scans all objects, so it is asked once a fill and when a policy kind is described otherwise.
# entrypoint: true
marked := {key |
	types := reporting.our_types(queries.former)
	some group, kind, namespace, name
	obj := data.objects[group][kind][namespace][name]
	reporting.shows_any(obj, types)
	key := concat("/", [group, kind, namespace, name])
}
