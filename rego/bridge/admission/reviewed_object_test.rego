package bridge.admission_test

import data.bridge.admission
import data.bridge.testing

_constraint_of(name, match) := {
	"apiVersion": "policybridge.io/v1alpha1",
	"kind": "Constraint",
	"metadata": {"name": name},
	"spec": {"policy": "testing.limits", "match": match},
}

_spoken_of(objects) := found if {
	found := admission.review_scope with data.objects as testing.stored(objects)
		with data.kinds as {"example.com/ColorPolicy": {}}
		with input as {}
}

_always := ["example.com/ColorPolicy", "policybridge.io/Constraint", "policybridge.io/PolicyKind"]

test_policies_and_what_describes_them_are_spoken_of if {
	found := _spoken_of([])
	not found.any
	found.types == _always
}

test_what_a_constraint_names_is_spoken_of if {
	match := {"kinds": [{"apiGroups": ["", "apps"], "kinds": ["Pod", "Deployment"]}]}
	found := _spoken_of([_constraint_of("few", match)])
	not found.any
	found.types == sort(array.concat(_always, ["core/Pod", "core/Deployment", "apps/Pod", "apps/Deployment"]))
}

test_a_constraint_that_leaves_groups_or_kinds_open_speaks_of_any if {
	every match in [
		{},
		{"kinds": []},
		{"namespaces": ["shop"]},
		{"kinds": [{"apiGroups": ["apps"]}]},
		{"kinds": [{"kinds": ["Pod"]}]},
		{"kinds": [{"apiGroups": ["*"], "kinds": ["Pod"]}]},
		{"kinds": [{"apiGroups": [""], "kinds": ["Pod", "*"]}]},
		{"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}, {"apiGroups": [""], "kinds": []}]},
	] {
		_spoken_of([_constraint_of("open", match)]).any
	}
}

test_a_constraint_that_is_invalid_speaks_of_nothing if {
	found := _spoken_of([_constraint_of("odd", {"kinds": 3})])
	not found.any
	found.types == _always
}

test_the_review_scope_has_its_dependencies if {
	_spoken_of([]).depends_on == [
		"apiextensions.k8s.io/CustomResourceDefinition",
		"policybridge.io/Constraint",
		"policybridge.io/PolicyKind",
	]
}

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
