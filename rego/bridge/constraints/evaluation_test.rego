package bridge.evaluation_test

import data.bridge.constraints
import data.bridge.testing

_constraint(spec) := testing.with_spec(
	testing.resource("policybridge.io/v1alpha1", "Constraint", "", "c"),
	object.union({"policy": "testing.seen", "match": {"kinds": [{"kinds": ["HTTPRoute"]}]}}, spec),
)

_rows(spec) := found if {
	found := constraints.violations({"c"}, {testing.cart_route, "core/Service/shop/cart"}) with input as {"unjudged": {"c": "it loops"}}
		with data.objects as testing.stored(array.concat(testing.world, [_constraint(spec)]))
}

test_an_unjudgeable_guardrail_is_a_violation_of_each_matching_object if {
	_rows({}) == {{
		"constraint": "c",
		"object": testing.cart_route,
		"enforcementAction": "deny",
		"message": "cannot be judged: it loops",
		"details": {"severity": "unknown"},
	}}
}

test_the_failure_policy_decides_whether_it_is_denied if {
	{row.enforcementAction | some row in _rows({"failurePolicy": "Fail"})} == {"deny"}
	{row.enforcementAction | some row in _rows({"failurePolicy": "Ignore"})} == {"warn"}
	{row.enforcementAction | some row in _rows({"failurePolicy": "Fail", "enforcementAction": "dryrun"})} == {"dryrun"}
}

test_a_guardrail_is_known_by_its_package if {
	constraints.is_guardrail("bridge.guardrails.mine")
	not constraints.is_guardrail("k8s.limits")
}
