package bridge.v1_test

import data.bridge.admission
import data.bridge.kinds
import data.bridge.testing
import data.bridge.v1

_asks(operation, obj) := {
	"uid": "1",
	"kind": {"group": split(obj.apiVersion, "/")[0], "version": "v1", "kind": obj.kind},
	"operation": operation,
	"namespace": object.get(obj.metadata, "namespace", ""),
	"object": obj,
}

# The result for a request when the sample cluster and these objects are stored.
_admission_in(objects, query_input) := found if {
	all_objects := array.concat(testing.world, objects)
	kinds_there := kinds.active_kinds with data.objects as testing.stored(all_objects)
	found := v1.admission with input as query_input
		with data.objects as testing.stored(all_objects)
		with data.index as testing.stored_index(all_objects)
		with data.kinds as kinds_there
}

_cart_ref := [testing.ref("HTTPRoute", "cart")]

test_an_input_that_is_no_request_is_an_error if {
	kind := {"group": "core", "version": "v1", "kind": "Service"}
	every query_input in [{"object": {}}, {"kind": kind, "object": {}}, {"operation": "CREATE", "kind": {"kind": "Service"}}] {
		found := v1.admission with input as query_input
		found.error.code == "InvalidInput"
	}
}

test_an_object_that_is_not_a_policy_is_not_spoken_of if {
	_admission_in([], _asks("CREATE", testing.service("new", []))) == {"denied": [], "warnings": []}
}

test_an_invalid_policy_of_a_managed_kind_is_denied_with_the_reason if {
	wrong := testing.color("shop", "wrong", 1, [testing.service_ref("cart")], {})
	_admission_in([], _asks("CREATE", wrong)) == {
		"denied": ["ColorPolicy/shop/wrong is Invalid: ColorPolicy cannot target a Service"],
		"warnings": [],
	}
}

test_an_invalid_policy_of_a_kind_that_is_observed_is_warned_of if {
	plain := testing.policykind({"group": "example.com", "kind": "PlainPolicy", "effectiveTarget": "Rule", "targets": [{"group": testing.gateway_group, "kind": "Gateway"}]})
	wrong := object.union(testing.color("shop", "wrong", 1, _cart_ref, {}), {"kind": "PlainPolicy"})
	_admission_in([plain], _asks("CREATE", wrong)) == {
		"denied": [],
		"warnings": ["PlainPolicy/shop/wrong is Invalid: PlainPolicy cannot target an HTTPRoute"],
	}
}

test_a_policy_that_is_deleted_or_only_annotated_is_left_alone if {
	wrong := testing.color("shop", "wrong", 1, [testing.service_ref("cart")], {})
	same := object.union(_asks("UPDATE", object.union(wrong, {"metadata": {"annotations": {"a": "b"}}})), {"oldObject": wrong})
	gone := object.union(_asks("DELETE", wrong), {"object": null, "oldObject": wrong})
	ending := object.union(wrong, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
	query_input := [same, gone, object.union(_asks("UPDATE", ending), {"oldObject": {"spec": {}}})]
	every one in query_input {
		_admission_in([], one) == {"denied": [], "warnings": []}
	}
}

test_a_policy_is_reported_where_it_becomes_effective if {
	_admission_in([], _asks("CREATE", testing.color("shop", "warm", 1, _cart_ref, {"theme": "dark"}))).warnings == ["ColorPolicy/shop/warm becomes effective on 1 route of namespace shop"]
}

test_a_policy_lists_policies_that_override_it_and_that_it_overrides if {
	strict := testing.color("infra", "strict", 1, [testing.ref("Gateway", "public")], {"overrides": {"theme": "plain"}})
	warm := testing.color("shop", "warm", 2, _cart_ref, {"theme": "dark"})
	_admission_in([strict], _asks("CREATE", warm)).warnings == ["ColorPolicy/shop/warm is overridden by infra/strict (Atomic overrides) on 1 of 1 route"]
	_admission_in([warm], _asks("CREATE", strict)).warnings == [
		"ColorPolicy/infra/strict becomes effective on 1 route of namespace shop",
		"ColorPolicy/infra/strict overrides shop/warm on 1 route",
	]
}

test_a_policy_in_conflict_is_reported_with_the_other_one if {
	old := testing.timeout("old", 1, [testing.service_ref("cart")], {"request": "1s"})
	new := testing.timeout("new", 1, [testing.service_ref("cart")], {"request": "2s"})
	_admission_in([old], _asks("CREATE", object.union(new, {"metadata": {"creationTimestamp": null}}))).warnings == ["TimeoutPolicy/shop/new conflicts with shop/old: The older TimeoutPolicy/shop/old already targets Service/shop/cart"]
}

test_a_target_that_is_missing_and_a_policy_that_reaches_nothing_are_reported if {
	far := testing.color("shop", "far", 1, [testing.ref("HTTPRoute", "gone")], {})
	_admission_in([], _asks("CREATE", far)).warnings == ["ColorPolicy/shop/far is not accepted for one target: Target HTTPRoute/shop/gone is not found"]
	idle := testing.gateway("idle", [testing.listener("http", 80)])
	lone := testing.color("infra", "lone", 1, [testing.ref("Gateway", "idle")], {})
	_admission_in([idle], _asks("CREATE", lone)).warnings == ["ColorPolicy/infra/lone has no effective target: there is no rule at or below its targets"]
}

test_an_update_reports_the_differences if {
	warm := testing.color("shop", "warm", 1, _cart_ref, {"theme": "dark"})
	light := testing.color("shop", "warm", 1, _cart_ref, {"theme": "light"})
	_admission_in([warm], object.union(_asks("UPDATE", light), {"oldObject": warm})).warnings == []
}

test_a_name_that_is_yet_to_be_made_is_no_hindrance if {
	unnamed := object.union(
		object.remove(testing.color("", "x", 1, _cart_ref, {"theme": "dark"}), ["metadata"]),
		{"metadata": {"generateName": "warm-"}},
	)
	query_input := object.union(_asks("CREATE", unnamed), {"namespace": "shop"})
	_admission_in([], query_input).warnings == ["ColorPolicy/shop/warm-? becomes effective on 1 route of namespace shop"]
}

test_a_policykind_that_is_invalid_is_warned_of if {
	odd := testing.policykind({"group": "example.com", "kind": "OddPolicy", "class": "Inherited"})
	_admission_in([], _asks("CREATE", odd)).warnings == ["PolicyKind/oddpolicy is not active: effectiveTarget is missing: an Inherited kind needs the level at which it acts"]
}

# T6
test_policy_above_a_bound_is_denied_with_bound_and_count if {
	wide := testing.color("shop", "wide", 1, _cart_ref, {"values": {sprintf("a%d", [index]): 1 | some index in numbers.range(1, 30)}})
	found := _admission_in([], _asks("CREATE", wide)) with data.bridge_settings.bounds as {"leaves": 20}
	found == {
		"denied": ["ColorPolicy/shop/wide is Invalid: Policy has 33 values; at most 20 are allowed"],
		"warnings": [],
	}
}

# K7
test_a_policy_in_a_version_with_other_fields_is_not_judged if {
	wrong := testing.color("shop", "wrong", 1, [testing.service_ref("cart")], {})
	versions := {"v1": "Unlike", "v2": "Read"}
	kind := {"example.com/ColorPolicy": {"versions": versions}}
	found := v1.admission with input as _asks("CREATE", wrong)
		with data.objects as testing.stored(testing.world)
		with data.index as testing.stored_index(testing.world)
		with data.kinds as object.union(_kinds_of_the_world, kind)
	found == {"denied": [], "warnings": [concat(" ", [
		`ColorPolicy/shop/wrong is not judged: apiVersion "example.com/v1" has other fields than v2,`,
		"which the bridge reads. Write the policy in that version",
	])]}
}

_kinds_of_the_world := found if {
	found := kinds.active_kinds with data.objects as testing.stored(testing.world)
}

_judged := testing.stored([
	testing.with_spec(
		testing.resource("policybridge.io/v1alpha1", "Constraint", "", "seen"),
		{"policy": "testing.seen", "match": {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}]}},
	),
	testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "wrong"), {"onParameterSelectionNoMatch": "deny"}),
	testing.service("cart", []),
	testing.service("stock", []),
])

_places(query_input) := [[row.constraint, row.object] | some row in found] if {
	found := v1.violations with input as query_input with data.objects as _judged
}

test_violations_are_rows_in_a_stable_order if {
	_places({}) == [["seen", "core/Service/shop/cart"], ["seen", "core/Service/shop/stock"]]
}

test_violations_of_objects_or_constraints_that_are_named if {
	_places({"objects": ["core/Service/shop/cart"]}) == [["seen", "core/Service/shop/cart"]]
	_places({"constraints": ["seen"], "objects": ["core/Service/shop/gone"], "skipMissing": true}) == []
	_places({"constraints": ["wrong"]}) == []
}

test_unknown_constraints_and_objects_are_an_error_and_not_an_empty_answer if {
	every query, query_input in {
		"violations": {"constraints": ["seen", "unseen"]},
		"audit_keys": {"constraints": ["unseen"]},
		"constraints": {"constraints": ["unseen"]},
	} {
		found := v1[query] with input as query_input with data.objects as _judged
		found.error == {"code": "TargetNotFound", "message": "policybridge.io/Constraint/-/unseen does not exist"}
		skipping := v1[query] with input as object.union(query_input, {"skipMissing": true}) with data.objects as _judged
		not skipping.error
	}
	gone := v1.violations with input as {"objects": ["core/Service/shop/cart", "core/Service/shop/gone"]} with data.objects as _judged
	gone.error == {"code": "TargetNotFound", "message": "core/Service/shop/gone does not exist"}
}

test_audited_are_the_objects_of_the_kinds_that_a_constraint_names if {
	found := v1.audit_keys with input as {} with data.objects as _judged
	found == {"seen": ["core/Service/shop/cart", "core/Service/shop/stock"]}
}

test_matched_objects_satisfy_the_whole_match if {
	narrow := testing.with_spec(
		testing.resource("policybridge.io/v1alpha1", "Constraint", "", "narrow"),
		{"policy": "testing.seen", "match": {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}], "name": "cart"}},
	)
	held := object.union(testing.stored([narrow]), _judged)
	asked := {"constraints": ["narrow"], "objects": ["core/Service/shop/cart", "core/Service/shop/stock"]}
	found := v1.audit_keys with input as asked with data.objects as held
	found == {"narrow": ["core/Service/shop/cart"]}
}

test_audited_objects_of_a_namespace_follow_its_labels if {
	namespaced := testing.with_spec(
		testing.resource("policybridge.io/v1alpha1", "Constraint", "", "by-namespace"),
		{"policy": "testing.seen", "match": {"namespaceSelector": {"matchLabels": {"team": "shop"}}}},
	)
	held := object.union(_judged, testing.stored([
		namespaced,
		testing.resource("v1", "Namespace", "", "shop"),
		testing.resource("v1", "Namespace", "", "blog"),
	]))
	found := v1.audit_keys with input as {"namespaces": ["shop"]} with data.objects as object.union(held, _judged)
	found == {"by-namespace": ["core/Namespace/-/shop", "core/Service/shop/cart", "core/Service/shop/stock"]}
}

test_constraints_are_reported if {
	found := v1.constraints with input as {} with data.objects as _judged
	[[entry.constraint, entry.policy, entry.enforcementAction, entry.condition.reason] | some entry in found] == [
		["seen", "testing.seen", "deny", "Accepted"],
		["wrong", "", "deny", "Invalid"],
	]
}

test_a_malformed_query_is_an_error if {
	every query_input in [
		{"objects": "cart"},
		{"objects": ["cart"]},
		{"constraints": "seen"},
		{"constraints": [1]},
		{"replicated": 1},
		{"namespaces": [1]},
		{"changes": {"delete": 1}},
	] {
		found := v1.violations with input as query_input with data.objects as _judged
		found.error.code == "InvalidInput"
	}
}

_config_map := {
	"operation": "CREATE",
	"kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
	"namespace": "shop",
	"object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}},
}

_is_asked(request, objects) if {
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.admission with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with admission.decisions as {{"denied": {"asked"}, "warnings": set()}}
	found.denied == ["asked"]
}

test_the_rules_are_not_evaluated_for_an_object_that_they_cannot_concern if {
	policy := testing.color("shop", "p", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	write := {"operation": "CREATE", "kind": {"group": "example.com", "kind": "ColorPolicy"}, "namespace": "shop", "object": policy}
	constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "c"), {"policy": "a"})
	not _is_asked(_config_map, testing.world)
	_is_asked(write, testing.world)
	_is_asked(_config_map, array.concat(testing.world, [constraint]))
	_is_asked(object.union(_config_map, {"subResource": "status"}), testing.world)
	_is_asked(object.union(_config_map, {"kind": {"kind": "Binding"}}), testing.world)
	_is_asked(object.union(_config_map, {"kind": {"group": "policybridge.io", "kind": "Constraint"}}), testing.world)
}

_concerned_in(objects) := found if {
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.concerned with data.objects as stored with data.kinds as kinds_there
}

test_requests_of_policy_kinds_concern_the_rules_and_any_other_while_a_constraint_exists if {
	constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "c"), {"policy": "a"})
	alone := _concerned_in(testing.world)
	alone.every == false
	"example.com/ColorPolicy" in alone.types
	not "core/ConfigMap" in alone.types
	_concerned_in(array.concat(testing.world, [constraint])).every == true
}
