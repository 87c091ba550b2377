package bridge.admission

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The update of labels, annotations, finalizers and owners for a request to a subresource that is not for them: `*/status`,
#   `namespaces/finalize`, and a Binding, whose labels and annotations the API server adds to its Pod. Undefined for other
#   requests, and if they change none of these. A Pod that is not stored counts as one without metadata.
metadata_update := {
	"operation": "UPDATE",
	"kind": target.kind,
	"name": target.new.metadata.name,
	"namespace": object.get(input, "namespace", ""),
	"object": target.new,
	"oldObject": target.old,
} if {
	target := _metadata_target
	some field in ["labels", "annotations", "finalizers", "ownerReferences"]
	object.get(target.new.metadata, field, null) != object.get(target.old.metadata, field, null)
}

# METADATA
# description: The request binds a Pod to a node.
is_binding if {
	input.kind.group == ""
	input.kind.kind == "Binding"
}

_metadata_target := {"kind": input.kind, "new": input.object, "old": input.oldObject} if {
	input.operation == "UPDATE"
	input.subResource in {"status", "finalize"}
} else := {"kind": {"group": "", "version": "v1", "kind": "Pod"}, "new": new, "old": old} if {
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
