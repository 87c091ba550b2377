package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_accepted := {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "Policy has been accepted"}

_conditions(scopes) := [_accepted, {
	"type": "Programmed",
	"status": "True",
	"reason": "Programmed",
	"message": sprintf("Programmed on %s", [scopes]),
}]

_status(outcome, conditions) := [{
	"policy": _warm_key,
	"outcome": outcome,
	"policyKind": _color,
	"mode": "Manage",
	"controllerName": "example.com/color-controller",
	"conditions": conditions,
	"types": ["Accepted", "Enforced", "Overridden", "PartiallyEnforced", "Programmed"],
}]

test_status_counts_itself_without_tallies if {
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key]})
	scope := "Gateway/infra/public#http > HTTPRoute/shop/cart"
	found == _status("Programmed", _conditions(sprintf("2 paths: %s#[1]; %s#pay", [scope, scope])))
}

test_status_takes_tallies if {
	tally := {"ancestor": "", "targets": [testing.cart_route], "outcome": "Programmed", "by": [], "count": 9, "examples": ["x"]}
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "tallies": {_warm_key: [tally]}})
	found == _status("Programmed", _conditions("9 paths: x and 8 more"))
}

test_status_of_a_policy_without_a_tally_is_that_it_reaches_nothing if {
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "tallies": {}})
	found == _status("NoScope", [_accepted, {
		"type": "Programmed",
		"status": "False",
		"reason": "NoScope",
		"message": "Policy has no effective target: there is no rule at or below its targets",
	}])
}

test_status_with_problems_has_those_of_the_query_problems if {
	lost := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "gone"), testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	above := testing.color("infra", "wide", 2, [testing.ref("Gateway", "public")], {"overrides": {"theme": "light"}})
	every objects in [[_warm], [lost], [lost, above], [_warm, above]] {
		[found] := v1.status with input as _query_input(objects, {"policies": [_warm_key], "problems": true})
		found.problems == v1.problems with input as _query_input(objects, {"objects": [_warm_key]})
	}
	[tallied] := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "problems": true, "tallies": {}})
	[problem.reason | some problem in tallied.problems] == ["NoScope"]
}

test_deleted_objects_and_other_kinds_have_no_status if {
	leaving := object.union(_slow, {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	query_input := {"policies": [_warm_key, _slow_key, "core/Service/shop/cart", "policybridge.io/PolicyKind/-/gone"], "skipMissing": true}
	found := v1.status with input as _query_input([leaving], query_input)
	found == []
}

test_a_policy_kind_that_is_being_deleted_has_no_status if {
	leaving := object.union(testing.policykind(object.union(testing.color_kind, {"kind": "ShadePolicy"})), {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	key := sprintf("policybridge.io/PolicyKind/-/%s", [leaving.metadata.name])
	found := v1.status with input as _query_input([leaving], {"policies": [key]})
	found == []
}

test_one_odd_policy_does_not_harm_the_status_of_another if {
	odd := testing.resource("example.com/v1", "ColorPolicy", "shop", "odd")
	odd_key := "example.com/ColorPolicy/shop/odd"
	found := v1.status with input as _query_input([odd, _warm], {"policies": [odd_key, _warm_key], "tallies": {}})
	[[entry.policy, entry.conditions[0].message] | some entry in found] == [
		[odd_key, "Policy has no spec"],
		[_warm_key, "Policy has been accepted"],
	]
}

test_a_policykind_has_a_status_too if {
	found := v1.status with input as _query_input([], {"policies": ["policybridge.io/PolicyKind/-/colorpolicy"]})
	found == [{
		"policy": "policybridge.io/PolicyKind/-/colorpolicy",
		"policyKind": "policybridge.io/PolicyKind",
		"mode": "Manage",
		"conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "PolicyKind is active"}],
		"types": ["Accepted"],
	}]
}

_affected_by(policies) := [condition.message |
	some condition in policies[0].conditions
	condition.type == "example.com/TimeoutPolicyAffected"
]

test_affected_computes_acting_or_reported_policies if {
	objects := ["core/Service/shop/cart", "core/Service/shop/gone"]
	computed := v1.affected with input as _query_input([_slow], {"objects": objects})
	acting := {"core/Service/shop/cart": {"example.com/TimeoutPolicy": {"": ["example.com/TimeoutPolicy/shop/other"]}}}
	found := v1.affected with input as _query_input([_slow], {"objects": objects, "affectedBy": acting})
	[_affected_by(computed), _affected_by(found)] == [
		["Affected by TimeoutPolicy/shop/slow"],
		["Affected by TimeoutPolicy/shop/other"],
	]
	count(computed) == 1
}

test_affected_gets_the_rest_of_full_statuses_and_the_former_kinds if {
	found := v1.affected with input as _query_input([], {
		"objects": ["core/Service/shop/cart"],
		"affectedBy": {},
		"unreported": {"core/Service/shop/cart": {"example.com/TimeoutPolicy": {"": ["example.com/TimeoutPolicy/shop/slow"]}}},
		"former": [{"controllerName": "old.io/ctl", "kind": "OldPolicy"}],
	})
	[condition.type | some condition in found[0].conditions] == ["example.com/TimeoutPolicyNotReported"]
	"old.io/OldPolicyAffected" in found[0].types
	"old.io/ctl" in found[0].controllers
}

test_status_names_former_controllers_of_the_policys_kind if {
	former := [{"controllerName": sprintf("%s.io/ctl", [kind]), "kind": kind} | some kind in ["ColorPolicy", "OldPolicy"]]
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "tallies": {}, "former": former})
	[entry.former | some entry in found] == [{"ColorPolicy.io/ctl"}]
}

test_affected_refuses_an_input_that_is_no_list_of_keys if {
	found := v1.affected with input as {"objects": "x"}
	found.error.code == "InvalidInput"
}

_marked_service := object.union(testing.service("cart", []), {
	"metadata": {"resourceVersion": "7", "annotations": {"a": "b"}},
	"status": {"conditions": [{"type": "example.com/TimeoutPolicyAffected"}, {"type": "acme.io/Other"}]},
})

test_shown_is_each_objects_status_annotations_and_version if {
	query_input := {"objects": ["core/Service/shop/cart", "core/Namespace/-/shop", "core/Service/shop/gone"]}
	found := v1.current_statuses with input as query_input
		with data.objects as testing.stored([_marked_service, testing.resource("v1", "Namespace", "", "shop")])
	found == {
		"core/Service/shop/cart": {"status": _marked_service.status, "annotations": {"a": "b"}, "resourceVersion": "7"},
		"core/Namespace/-/shop": {"status": {}, "annotations": {}, "resourceVersion": ""},
	}
}

_marked(former) := found if {
	conditions := [{"type": "example.com/TimeoutPolicyAffected"}]
	objects := [
		_marked_service,
		testing.policykind(testing.timeout_kind),
		testing.resource("v1", "Namespace", "", "shop"),
		object.union(testing.route("cart", [], []), {"status": {"parents": [{"conditions": conditions}]}}),
		object.union(testing.gateway("public", []), {"status": {"listeners": [{"conditions": conditions}]}}),
		object.union(testing.service("stock", []), {"metadata": {"annotations": {"old.io/OldPolicyAffected": "true"}}}),
	]
	kinds := v1.kinds_in_force with data.objects as testing.stored(objects)
	found := v1.marked_objects with data.objects as testing.stored(objects) with data.kinds as kinds with input as {"former": former}
}

# S4
test_marked_are_the_objects_that_show_something_of_ours_in_any_place if {
	_marked([]) == {
		"core/Service/shop/cart",
		"gateway.networking.k8s.io/HTTPRoute/shop/cart",
		"gateway.networking.k8s.io/Gateway/infra/public",
	}
}

# S4
test_marked_are_also_objects_that_show_something_of_a_kind_that_was if {
	"core/Service/shop/stock" in _marked([{"controllerName": "old.io/ctl", "kind": "OldPolicy"}])
}

_remediation(objects, keys, fields) := object.union(object.remove(found, ["remediation"]), object.get(found, "remediation", {})) if {
	wanted := {"scopes": {}, "objects": {}, "policies": {}, "remediation": fields}
	found := v1.outdated with input as _query_input(objects, {"keys": keys, "was": {}, "wanted": wanted})
}

_reported(found) := {report.item | some report in found.reports; report.desired}

test_remediation_of_a_policy_equals_separate_queries if {
	found := _remediation([_warm], [_warm_key], {})
	targets := [_rule_one, testing.cart_pay]
	rows := v1.outcomes with input as _query_input([_warm], {"policyKind": _color, "targets": targets})
	found.outcomes == {_color: rows}
	policies := v1.reports with input as _query_input([_warm], {"items": [["policy", _warm_key]]})
	objects := v1.reports with input as _query_input([_warm], {"items": [["object", testing.cart_route], ["object", _warm_key]]})
	{report | some report in found.reports; report.desired} == {report | some report in array.concat(policies, objects)}
	concerned := v1.dependents with input as _query_input([_warm], {"keys": [_warm_key], "was": {}})
	concerned == object.remove(found, ["outcomes", "reports"])
}

test_remediation_adds_new_rows_to_kept_tallies if {
	tally := {"ancestor": "", "targets": [_gateway], "outcome": "Programmed", "by": [], "count": 9, "examples": ["x"]}
	wide := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})
	key := "example.com/ColorPolicy/infra/wide"
	fields := {"targets": {_color: [_rule_one, testing.cart_pay]}, "kept": {key: [tally]}}
	found := _remediation([wide], [testing.cart_route], fields)
	some report in found.reports
	report.item == ["policy", key]
	some condition in report.desired.conditions
	startswith(condition.message, "Programmed on 11 paths")
}

test_remediation_leaves_out_policies_that_reach_more_than_the_change if {
	wide := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})
	not ["policy", "example.com/ColorPolicy/infra/wide"] in _reported(_remediation([wide], [testing.cart_route], {}))
	both := testing.color("shop", "both", 1, [testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "other")], {"theme": "dark"})
	found := _remediation([both], [testing.cart_route], {})
	"example.com/ColorPolicy/shop/both" in found.policies
	not ["policy", "example.com/ColorPolicy/shop/both"] in _reported(found)
}

test_remediation_of_a_large_change_lists_only_concerned_targets if {
	found := _remediation([_warm], [_warm_key], {"most": 1})
	object.keys(found) == {"scopes", "objects", "policies"}
}

test_remediation_of_a_deleted_object_has_empty_reports if {
	gone := "gateway.networking.k8s.io/HTTPRoute/shop/gone"
	found := _remediation([], [gone], {})
	found.reports == [{"item": ["policy", gone]}, {"item": ["object", gone]}]
}

test_a_report_has_the_desired_and_the_current_status if {
	found := v1.reports with input as _query_input([_warm], {"items": [["policy", _warm_key]]})
	object.keys(found[0]) == {"item", "desired", "current"}
	object.keys(found[0].current) == {"status", "annotations", "resourceVersion"}
}

test_remediation_leaves_out_kinds_in_mode_observe_unless_observed if {
	kind := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend", "mode": "Observe"})
	pool := testing.with_spec(testing.resource("example.com/v1", "PoolPolicy", "shop", "p"), {"targetRefs": [testing.service_ref("cart")]})
	key := "example.com/PoolPolicy/shop/p"
	_remediation([kind, pool], [key], {}).outcomes == {}
	not ["policy", key] in _reported(_remediation([kind, pool], [key], {"observed": true}))
	_remediation([kind, pool], [key], {"observed": true}).outcomes["example.com/PoolPolicy"]
}

test_remediation_wants_keys if {
	_remediation([], ["x"], {}).error.code == "InvalidInput"
}

test_reports_want_items if {
	every items in [null, ["x"], [["policy", "x"]], [["thing", testing.cart_route]]] {
		found := v1.reports with input as {"items": items}
		found.error.code == "InvalidInput"
	}
}

test_traces_are_by_object_and_only_of_those_that_have_any if {
	old := {"kind": "OldPolicy", "controllerName": "old.io/ctl"}
	marked := object.union(testing.service("cart", []), {"status": {"conditions": [{"type": "old.io/OldPolicyAffected"}]}})
	query_input := {"objects": [marked, testing.service("stock", [])], "former": [old], "manager": "policy-bridge"}
	v1.traces == {"core/Service/shop/cart": {"types": {"old.io/OldPolicyAffected"}}} with input as query_input
}

test_written_types_are_reported_for_replicated_types if {
	v1.writable_types == {"status": ["core/Service", "example.com/TimeoutPolicy"], "annotations": []} with input as {
		"replicated": ["core/Service"],
		"changes": {"upsert": [testing.policykind(testing.timeout_kind)]},
	}
}

test_replicated_types_have_to_be_a_list if {
	v1.writable_types.error.code == "InvalidInput" with input as {"replicated": "core/Service"}
}
