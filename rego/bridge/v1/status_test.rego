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

_status(conditions) := [{
	"policy": _warm_key,
	"policyKind": _color,
	"mode": "Manage",
	"controllerName": "example.com/color-controller",
	"conditions": conditions,
	"types": ["Accepted", "Enforced", "Overridden", "PartiallyEnforced", "Programmed"],
}]

test_status_counts_itself_without_tallies if {
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key]})
	scope := "Gateway infra/public#http > HTTPRoute shop/cart"
	found == _status(_conditions(sprintf("2 scopes: %s#[1]; %s#pay", [scope, scope])))
}

test_status_takes_tallies if {
	tally := {"ancestor": "", "targets": [testing.cart_route], "outcome": "Programmed", "by": [], "count": 9, "examples": ["x"]}
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "tallies": {_warm_key: [tally]}})
	found == _status(_conditions("9 scopes: x and 8 more"))
}

test_status_of_a_policy_without_a_tally_is_that_it_reaches_nothing if {
	found := v1.status with input as _query_input([_warm], {"policies": [_warm_key], "tallies": {}})
	found == _status([_accepted, {
		"type": "Programmed",
		"status": "False",
		"reason": "NoScope",
		"message": "Policy has no effective target: there is no rule at or below its targets",
	}])
}

test_deleted_objects_and_other_kinds_have_no_status if {
	leaving := object.union(_slow, {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	query_input := {"policies": [_warm_key, _slow_key, "core/Service/shop/cart", "policybridge.io/PolicyKind/-/gone"]}
	found := v1.status with input as _query_input([leaving], query_input)
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
