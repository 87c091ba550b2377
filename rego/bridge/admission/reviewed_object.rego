package bridge.admission

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# The object that a request writes, with its future name and namespace. The API server generates a name from generateName
# after admission. Undefined if the request deletes an object, or writes a subresource.
written_object := named if {
	object.get(input, "subResource", "") == ""
	named := object.union(input.object, {"metadata": object.union_n([
		{"name": concat("", [input.object.metadata.generateName, "?"]) | not input.object.metadata.name},
		{"namespace": input.namespace | object.get(input, "namespace", "") != ""; input.kind.kind != "Namespace"},
		input.object.metadata,
	])})
	keys.of(named)
}

# The same. Undefined also if the request leaves the spec unchanged, because then no decision changes.
reviewed_object := written_object if not _is_unchanged

_is_unchanged if input.object.metadata.deletionTimestamp

_is_unchanged if {
	input.operation == "UPDATE"
	object.get(input.object, "spec", null) == object.get(input.oldObject, "spec", null)
}

# The update of labels, annotations, finalizers and owners for a request to a subresource that is not for them:
# `*/status`, `namespaces/finalize`, and a Binding, whose labels and annotations the API server adds to its Pod.
# Undefined for other requests, and if they change none of these. A Pod that is not stored counts as one without
# metadata.
metadata_update := object.union(target, {
	"operation": "UPDATE",
	"name": target.object.metadata.name,
	"namespace": object.get(input, "namespace", ""),
}) if {
	target := _metadata_target
	some field in ["labels", "annotations", "finalizers", "ownerReferences"]
	object.get(target.object.metadata, field, null) != object.get(target.oldObject.metadata, field, null)
}

is_binding if {
	input.kind.group == ""
	input.kind.kind == "Binding"
}

_metadata_target := object.filter(input, ["kind", "object", "oldObject"]) if {
	input.operation == "UPDATE"
	input.subResource in {"status", "finalize"}
} else := {"kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": new, "oldObject": old} if {
	is_binding
	old := _bound_pod
	added := {field: value | some field in ["labels", "annotations"]; value := object.union(
		object.get(old.metadata, field, {}),
		object.get(input.object.metadata, field, {}),
	)}
	new := object.union(old, {"metadata": added})
}

_bound_pod := pod if {
	pod := lookup.get(keys.format("", "Pod", input.namespace, input.object.metadata.name))
} else := {
	"apiVersion": "v1",
	"kind": "Pod",
	"metadata": {"name": input.object.metadata.name, "namespace": input.namespace, "labels": {}, "annotations": {}},
	"spec": {"containers": []},
}

# METADATA
# description: |
#   The rules may find something about the request: while a Constraint exists, about any; otherwise about a written
#   policy, about what describes policies, and about the object behind a subresource or a Binding. The webhook leaves out
#   the query for other requests by `concerned`.
may_concern if _constraint_exists

may_concern if object.get(input, "subResource", "") != ""

may_concern if is_binding

may_concern if input.changes # they may bring Constraints

may_concern if input.kind.group == "policybridge.io"

may_concern if {
	input.operation != "DELETE"
	kinds.get(concat("/", [keys.group_name(input.kind.group), input.kind.kind]))
}

_constraint_exists if data.objects["policybridge.io"].Constraint["-"]

# The types of objects whose writing may concern the rules, and whether requests of each other type may.
concerned := {"every": {true | _constraint_exists} == {true}, "types": kinds.names}

# The update for a request to the subresource `scale`: the stored scaled object with the new number of replicas.
# Undefined for other requests, and if the object is not stored.
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
