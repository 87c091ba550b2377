package bridge.admission

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The update for a request to the subresource `scale`: the stored scaled object with the new number of replicas.
#   Undefined for other requests, and if the object is not stored.
scale_update := object.union(
	object.remove(input, ["kind", "object", "oldObject"]),
	{
		"kind": {"group": input.resource.group, "version": input.resource.version, "kind": target.kind},
		"object": object_scaled,
		"oldObject": current,
	},
) if {
	is_scale
	target := _scale_target
	current := lookup.get(keys.format(input.resource.group, target.kind, input.namespace, input.name))
	replicas := object.get(input.object, ["spec", "replicas"], 0)
	object_scaled := json.patch(
		object.union(current, {target.path[0]: {}}),
		[{"op": "add", "path": target.path, "value": replicas}],
	)
}

# METADATA
# description: The request scales an object.
is_scale if {
	object.get(input, "subResource", "") == "scale"
	input.kind.group == "autoscaling"
	input.kind.kind == "Scale"
}

# The kind of the scaled object, and the path of its number of replicas.
_scale_target := {"kind": kind, "path": ["spec", "replicas"]} if {
	kind := _scalable[input.resource.group][input.resource.resource]
} else := {"kind": crd.spec.names.kind, "path": split(trim_prefix(subresource.specReplicasPath, "."), ".")} if {
	name := sprintf("%s.%s", [input.resource.resource, input.resource.group])
	crd := lookup.get(sprintf("%s/-/%s", [kinds.crd_type, name]))
	some version in crd.spec.versions
	version.name == input.resource.version
	subresource := version.subresources.scale
}

_scalable := {
	"": {"replicationcontrollers": "ReplicationController"},
	"apps": {"deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet"},
}

# METADATA
# description: |
#   A match names a kind. A Scale or a Binding has none of its object's labels and fields, so the match must name it.
names_kind(match, kind) if {
	some entry in match.kinds
	kind in entry.kinds
}
