package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_remediation(objects, keys, fields) := found if {
	found := v1.remediation with input as _query_input(objects, object.union({"keys": keys, "was": {}}, fields))
}

_reported(found) := {report.item | some report in found.reports; report.desired}

test_remediation_of_a_policy_gives_what_separate_queries_give if {
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
	startswith(condition.message, "Programmed on 11 scopes")
}

test_remediation_leaves_out_policies_that_reach_more_than_the_change if {
	wide := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})
	not ["policy", "example.com/ColorPolicy/infra/wide"] in _reported(_remediation([wide], [testing.cart_route], {}))
}

test_remediation_of_a_large_change_says_only_what_is_concerned if {
	found := _remediation([_warm], [_warm_key], {"most": 1})
	object.keys(found) == {"scopes", "objects", "policies"}
}

test_remediation_of_a_deleted_object_has_empty_reports if {
	gone := "gateway.networking.k8s.io/HTTPRoute/shop/gone"
	found := _remediation([], [gone], {})
	found.reports == [{"item": ["policy", gone]}, {"item": ["object", gone]}]
}

test_remediation_leaves_out_kinds_in_mode_observe_unless_observed if {
	kind := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend", "mode": "Observe"})
	pool := testing.with_spec(testing.resource("example.com/v1", "PoolPolicy", "shop", "p"), {"targetRefs": [testing.service_ref("cart")]})
	key := "example.com/PoolPolicy/shop/p"
	_remediation([kind, pool], [key], {}).outcomes == {}
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
