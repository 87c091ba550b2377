package bridge.admission_test

import data.bridge.admission
import data.bridge.testing

_metadata_update(kind, field) := found if {
	old := {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "shop"}}
	request := {
		"operation": "UPDATE",
		"subResource": "status",
		"namespace": "shop",
		"kind": {"group": "apps", "version": "v1", "kind": kind},
		"object": object.union(old, {"metadata": {field: ["changed"]}}),
		"oldObject": old,
	}
	found := admission.metadata_update with input as request
}

test_a_status_update_that_changes_metadata_is_an_update_of_the_object if {
	every field in ["labels", "annotations", "finalizers", "ownerReferences"] {
		_metadata_update("Deployment", field).object.metadata[field] == ["changed"]
	}
	not _metadata_update("Deployment", "resourceVersion")
}

test_a_request_for_a_subresource_writes_no_object if {
	requests := [{"operation": "UPDATE", "subResource": part, "object": testing.service("cart", [])} | some part in ["", "status", "scale"]]
	[1 | some request in requests; admission.written_object with input as request] == [1]
}

test_the_kinds_that_kubernetes_scales_are_known if {
	every row in [
		["", "replicationcontrollers", "ReplicationController"],
		["apps", "deployments", "Deployment"],
		["apps", "replicasets", "ReplicaSet"],
		["apps", "statefulsets", "StatefulSet"],
	] {
		[group, resource, kind] := row
		workload := testing.with_spec(testing.resource(trim_prefix(concat("/", [group, "v1"]), "/"), kind, "shop", "web"), {"replicas": 1})
		request := {
			"operation": "UPDATE",
			"subResource": "scale",
			"resource": {"group": group, "version": "v1", "resource": resource},
			"kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
			"namespace": "shop",
			"name": "web",
			"object": {"spec": {"replicas": 5}},
			"changes": {"upsert": [workload]},
		}
		found := admission.scale_update with input as request
		[found.object.spec.replicas, found.kind.kind, found.oldObject.spec.replicas] == [5, kind, 1]
	}
}
