package bridge.v1

import data.bridge.lookup
import data.bridge.status as reporting

# METADATA
# description: |
#   `shown`: what each of `objects` shows now, `{status, resourceVersion}` by key; what is gone is absent.
# entrypoint: true
shown := _keys_problem("objects") if {
	_keys_problem("objects")
} else := {key: {"status": object.get(obj, "status", {}), "resourceVersion": object.get(obj.metadata, "resourceVersion", "")} |
	some key in input.objects
	obj := lookup.get(key)
}

# METADATA
# description: |
#   `marked`: the objects that show a condition `<domain>/<Kind>Affected` of ours. Scans those types, so it is asked once a fill.
# entrypoint: true
marked := {key |
	some type in reporting.marked_types
	[group, kind] := split(type, "/")
	some namespace, named in data.objects[group][kind]
	some name, obj in named
	some condition in obj.status.conditions
	condition.type in reporting.our_types
	key := concat("/", [group, kind, namespace, name])
}
