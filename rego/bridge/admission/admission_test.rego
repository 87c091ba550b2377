package bridge.admission_test

import data.bridge.testing
import data.bridge.v1

_shop := object.union(testing.resource("v1", "Namespace", "", "shop"), {"metadata": {"labels": {"team": "shop"}}})

_constraint(name, spec) := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", name), spec)

_deployment(replicas) := testing.with_spec(testing.resource("apps/v1", "Deployment", "shop", "cart"), {"replicas": replicas})

_creates(obj) := {
	"operation": "CREATE",
	"kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
	"name": obj.metadata.name,
	"namespace": "shop",
	"userInfo": {"username": "ann"},
	"object": obj,
	"oldObject": null,
}

_updates(old, obj) := object.union(_creates(obj), {"operation": "UPDATE", "oldObject": old})

_limits := {
	"policy": "testing.limits",
	"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]},
	"parameters": {"limit": 3},
}

_reported(request, specs) := _reported_with(request, specs, [_shop])

_reported_with(request, specs, objects) := found if {
	stored := testing.stored(array.concat(objects, [_constraint(name, spec) | some name, spec in specs]))
	found := v1.admission with data.objects as stored with input as request
}

_nothing := {"denied": [], "warnings": []}

test_a_violation_denies_with_the_constraints_name if {
	_reported(_creates(_deployment(5)), {"few": _limits}) == {"denied": ["[few] 5 replicas are more than 3"], "warnings": []}
	_reported(_creates(_deployment(3)), {"few": _limits}) == _nothing
}

test_warn_warns_and_dryrun_does_not if {
	warned := _reported(_creates(_deployment(5)), {"few": object.union(_limits, {"enforcementAction": "warn"})})
	warned == {"denied": [], "warnings": ["[few] 5 replicas are more than 3"]}
	_reported(_creates(_deployment(5)), {"few": object.union(_limits, {"enforcementAction": "dryrun"})}) == _nothing
}

test_a_policy_is_given_the_whole_request if {
	spec := object.union(_limits, {"policy": "testing.matching"})
	request := _creates(_deployment(5))
	stored := testing.stored([_shop, _constraint("matching", spec)])
	found := v1.admission with data.objects as stored with input as request
		with data.bridge.constraints.dispatch.policies as {"testing.matching"}
		with data.bridge.constraints.dispatch.violations as {"testing.matching": [{"msg": "matched"}]}
	found.denied == ["[matching] matched"]
}

test_every_constraint_that_matches_is_queried if {
	labels := {"policy": "testing.labels", "parameters": {"labels": ["owner"]}}
	_reported(_creates(_deployment(5)), {"few": _limits, "owned": labels}).denied == [
		"[few] 5 replicas are more than 3",
		"[owned] missing labels: owner",
	]
}

_without_selection(said) := object.union(_limits, {
	"parameterSelection": [{"match": {"name": "stock"}, "parameters": {"limit": 9}}],
	"onParameterSelectionNoMatch": said,
})

test_enforcement_without_a_matching_selection if {
	request := _creates(_deployment(5))
	_reported(request, {"few": _without_selection("proceed")}).denied == ["[few] 5 replicas are more than 3"]
	_reported(request, {"few": _without_selection("allow")}) == _nothing
	_reported(request, {"few": _without_selection("warn")}) == {"denied": [], "warnings": ["[few] no entry of parameterSelection matches"]}
	_reported(request, {"few": _without_selection("deny")}).denied == ["[few] no entry of parameterSelection matches"]
}

test_no_selection_overrides_the_enforcement_action if {
	quiet := {"enforcementAction": "dryrun"}
	request := _creates(_deployment(5))
	_reported(request, {"few": object.union(_without_selection("deny"), quiet)}) == _nothing
	_reported(request, {"few": object.union(_without_selection("warn"), quiet)}) == _nothing
	_reported(request, {"few": object.union(_without_selection("deny"), {"enforcementAction": "warn"})}).denied == []
}

test_a_policy_that_is_not_loaded_lets_nothing_through if {
	gone := object.union(_limits, {"policy": "testing.gone"})
	_reported(_creates(_deployment(1)), {"few": gone}).denied == ["[few] policy testing.gone is not loaded"]
	_reported(_creates(_deployment(1)), {"few": object.union(gone, {"enforcementAction": "warn"})}).denied == []
}

_of_team(team) := object.union(_limits, {"match": {"labelSelector": {"matchLabels": {"team": team}}}})

_labelled(obj, labels) := object.union(obj, {"metadata": {"labels": labels}})

test_a_change_of_labels_leads_past_no_constraint if {
	old := _labelled(_deployment(5), {"team": "a"})
	_reported(_updates(old, _labelled(_deployment(5), {"team": "b"})), {"few": _of_team("a")}).denied == ["[few] 5 replicas are more than 3"]
	_reported(_updates(_deployment(5), _labelled(_deployment(5), {"team": "a"})), {"few": _of_team("a")}).denied != []
	_reported(_updates(_deployment(5), _deployment(5)), {"few": _of_team("a")}) == _nothing
}

test_parameters_are_chosen_by_the_object_as_it_is_to_be if {
	spec := object.union(_limits, {"parameterSelection": [{
		"match": {"labelSelector": {"matchLabels": {"size": "large"}}},
		"parameters": {"limit": 9},
	}]})
	large := _labelled(_deployment(5), {"size": "large"})
	_reported(_updates(_deployment(5), large), {"few": spec}) == _nothing
	_reported(_updates(large, _deployment(5)), {"few": spec}).denied == ["[few] 5 replicas are more than 3"]
}

_of_namespace := object.union(_limits, {"match": {"namespaceSelector": {"matchLabels": {"team": "shop"}}}})

test_labels_of_the_namespace_count if {
	_reported(_creates(_deployment(5)), {"few": _of_namespace}).denied == ["[few] 5 replicas are more than 3"]
	other := object.union(_shop, {"metadata": {"labels": {"team": "blog"}}})
	_reported_with(_creates(_deployment(5)), {"few": _of_namespace}, [other]) == _nothing
}

test_a_namespace_that_is_not_known_yet_is_no_way_past_a_selector if {
	found := _reported_with(_creates(_deployment(1)), {"few": _of_namespace}, [])
	found.denied == ["[few] namespace shop is not known yet, but a Constraint matches by its labels. Try again"]
	_reported_with(_creates(_deployment(1)), {"few": _limits}, []) == _nothing
}

test_the_namespace_of_the_request_is_the_objects if {
	spec := object.union(_limits, {"match": {"namespaces": ["shop"], "name": "cart-*"}})
	obj := {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generateName": "cart-"}, "spec": {"replicas": 5}}
	_reported(object.union(object.remove(_creates(_deployment(5)), ["object"]), {"object": obj}), {"few": spec}).denied != []
}

test_objects_in_deletion_may_go if {
	old := object.union(_deployment(5), {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}})
	new := json.patch(old, [{"op": "replace", "path": "/metadata/finalizers", "value": []}])
	_reported(_updates(old, new), {"few": _limits}) == _nothing
	_reported(_updates(old, object.union(new, {"spec": {"replicas": 6}})), {"few": _limits}).denied != []
	_reported(object.union(_creates(_deployment(5)), {"operation": "DELETE"}), {"few": _limits}) == _nothing
}

_forbids_label := object.union(_limits, {"policy": "testing.labels", "parameters": {"labels": ["owner"]}})

_owned(obj, more) := _labelled(obj, object.union({"owner": "a"}, more))

_gone(obj) := object.union(obj, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}})

test_labels_and_annotations_of_objects_in_deletion_are_judged if {
	old := _gone(_owned(_deployment(1), {}))
	served := {"managedFields": [], "resourceVersion": "7", "generation": 7, "finalizers": []}
	_reported(_updates(old, object.union(_gone(_deployment(1)), {"metadata": served})), {"owned": _forbids_label}).denied == ["[owned] missing labels: owner"]
	_reported(_updates(_gone(_deployment(1)), object.union(_gone(_deployment(1)), {"metadata": served})), {"owned": _forbids_label}) == _nothing
}

test_metadata_that_a_status_or_a_finalizer_request_changes_is_judged if {
	every subresource in ["status", "finalize"] {
		request := object.union(_updates(_owned(_deployment(5), {}), _deployment(5)), {"subResource": subresource})
		_reported(request, {"owned": _forbids_label, "few": _limits}).denied == ["[owned] missing labels: owner"]
	}
}

test_status_with_other_metadata_may_keep_former_violations if {
	request := object.union(_updates(_deployment(5), _labelled(_deployment(5), {"seen": "1"})), {"subResource": "status"})
	_reported(request, {"owned": _forbids_label, "few": _limits}) == _nothing
}

_binds(subresource, labels) := {
	"operation": "CREATE",
	"kind": {"group": "", "version": "v1", "kind": "Binding"},
	"resource": {"group": "", "version": "v1", "resource": "pods"},
	"subResource": subresource,
	"namespace": "shop",
	"object": {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "cart", "labels": labels}, "target": {"name": "node"}},
}

_of_pods(spec) := object.union(spec, {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}})

test_labels_that_a_binding_adds_are_judged_as_those_of_its_pod if {
	forbidden := {"forbidden": _of_pods({"policy": "testing.forbidden"})}
	every subresource in ["binding", ""] {
		_reported(_binds(subresource, {"forbidden": "yes"}), forbidden).denied == ["[forbidden] label forbidden"]
		_reported(_binds(subresource, {"zone": "a"}), forbidden) == _nothing
	}
	pod := testing.resource("v1", "Pod", "shop", "cart")
	_reported_with(_binds("binding", {"zone": "a"}), {"owned": _of_pods(_forbids_label)}, [_shop, pod]) == _nothing
}

test_statuses_are_not_judged if {
	request := _updates(_deployment(5), _deployment(5))
	_reported(object.union(request, {"subResource": "status"}), {"few": _limits}) == _nothing
	_reported(object.union(request, {"subResource": ""}), {"few": _limits}).denied != []
}

_scales(replicas) := {
	"operation": "UPDATE",
	"kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
	"resource": {"group": "apps", "version": "v1", "resource": "deployments"},
	"subResource": "scale",
	"name": "cart",
	"namespace": "shop",
	"object": object.union(testing.resource("autoscaling/v1", "Scale", "shop", "cart"), {"spec": {"replicas": replicas}}),
	"oldObject": testing.resource("autoscaling/v1", "Scale", "shop", "cart"),
}

test_scaling_is_an_update_of_the_scaled_object if {
	there := [_shop, _labelled(_deployment(1), {"team": "a"})]
	_reported_with(_scales(5), {"few": _of_team("a")}, there).denied == ["[few] 5 replicas are more than 3"]
	_reported_with(_scales(3), {"few": _of_team("a")}, there) == _nothing
	_reported_with(_scales(5), {"few": _of_team("b")}, there) == _nothing
	_reported_with(_scales(5), {"few": _limits}, [_shop]) == _nothing
}

test_scale_itself_is_judged_only_where_its_kind_is_named if {
	every_object := {"policy": "testing.labels", "parameters": {"labels": ["owner"]}}
	_reported(_scales(5), {"owned": every_object}) == _nothing
	named := {"match": {"kinds": [{"apiGroups": ["autoscaling"], "kinds": ["Scale"]}]}}
	_reported(_scales(5), {"few": object.union(_limits, named)}).denied == ["[few] 5 replicas are more than 3"]
}

test_scaling_of_a_custom_resource_is_by_the_path_of_its_definition if {
	crd := {
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition",
		"metadata": {"name": "flocks.example.com"},
		"spec": {
			"names": {"kind": "Flock", "plural": "flocks"},
			"versions": [{"name": "v1", "subresources": {"scale": {"specReplicasPath": ".spec.replicas"}}}],
		},
	}
	flock := testing.with_spec(testing.resource("example.com/v1", "Flock", "shop", "cart"), {"replicas": 1})
	request := object.union(_scales(5), {"resource": {"group": "example.com", "version": "v1", "resource": "flocks"}})
	spec := object.union(_limits, {"match": {"kinds": [{"apiGroups": ["example.com"], "kinds": ["Flock"]}]}})
	_reported_with(request, {"few": spec}, [_shop, crd, flock]).denied == ["[few] 5 replicas are more than 3"]
	_reported_with(request, {"few": spec}, [_shop, flock]) == _nothing
}

test_ephemeral_containers_are_judged_with_their_pod if {
	pod := testing.with_spec(testing.resource("v1", "Pod", "shop", "cart"), {"replicas": 5})
	request := object.union(_updates(pod, pod), {"kind": {"group": "", "version": "v1", "kind": "Pod"}})
	spec := object.union(_limits, {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}})
	_reported(object.union(request, {"subResource": "ephemeralcontainers"}), {"few": spec}).denied != []
}

_creates_constraint(spec) := {
	"operation": "CREATE",
	"kind": {"group": "policybridge.io", "version": "v1alpha1", "kind": "Constraint"},
	"name": "new",
	"object": _constraint("new", spec),
}

test_a_constraint_that_is_invalid_is_denied if {
	found := _reported(_creates_constraint({"policy": "testing.limits", "onParameterSelectionNoMatch": "deny"}), {})
	found == {"denied": ["onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches"], "warnings": []}
}

test_a_constraint_without_a_loaded_policy_is_warned_about if {
	_reported(_creates_constraint(_limits), {}) == _nothing
	found := _reported(_creates_constraint(object.union(_limits, {"policy": "testing.gone"})), {})
	found.denied == []
	found.warnings == ["policy testing.gone is not loaded, or has no rule violation. Until it is, matching objects are denied"]
}

test_a_request_that_relaxes_a_constraint_is_warned_about_and_never_denied if {
	request := object.union(_creates_constraint(object.union(_limits, {"enforcementAction": "warn"})), {
		"operation": "UPDATE",
		"oldObject": _constraint("new", _limits),
	})
	after := ": requests that it denied are admitted after this request"
	_reported(request, {}) == {"denied": [], "warnings": [concat("", ["Constraint/new has the enforcementAction warn in place of deny", after])]}
	deleted := object.union(object.remove(request, ["object"]), {"operation": "DELETE"})
	_reported(deleted, {}) == {"denied": [], "warnings": [concat("", ["Constraint/new is deleted, and its enforcementAction was deny", after])]}
}

test_invalid_constraint_without_a_loaded_policy_is_denied_alone if {
	invalid := object.union(_limits, {"policy": "testing.gone", "onParameterSelectionNoMatch": "deny"})
	found := _reported(_creates_constraint(invalid), {})
	count(found.denied) == 1
	found.warnings == []
}

test_constraints_do_not_block_fixing_a_constraint if {
	all := {"policy": "testing.gone"}
	_reported(_creates_constraint(_limits), {"all": all}) == _nothing
}

test_an_input_that_is_no_request_is_an_error if {
	found := v1.admission with input as {"operation": "CREATE"}
	found.error.code == "InvalidInput"
}
