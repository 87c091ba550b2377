package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_cart_policy := testing.color("shop", "cart", 3, [testing.ref("HTTPRoute", "cart")], {"defaults": {"theme": "dark"}})

_pay_policy := testing.color("shop", "pay", 4, [testing.section_ref("HTTPRoute", "cart", "pay")], {"defaults": {"theme": "light"}})

_impact_of(objects, fields) := found if {
	found := v1.impact with input as _query_input(objects, fields)
}

test_impact_tells_the_scopes_and_what_would_be_without_the_policy if {
	found := _impact_of([_cart_policy, _pay_policy], {"policy": "example.com/ColorPolicy/shop/cart"})
	found.scopes == [_rule_one, testing.cart_pay]
	found.counts == {"scopes": 2, "compared": 2, "outcomes": {"Programmed": 1, "PartiallyProgrammed": 0, "Overridden": 1}}
	[[difference.target, difference.before.spec, difference.after] | some difference in found.ifDeleted; difference.target == _rule_one] == [[_rule_one, {"theme": "dark"}, null]]
}

test_a_policy_that_is_overridden_changes_only_who_is_named if {
	found := _impact_of([_cart_policy, _pay_policy], {"policy": "example.com/ColorPolicy/shop/cart"})
	difference := [difference | some difference in found.ifDeleted; difference.target == testing.cart_pay][0]
	difference.before.spec == difference.after.spec
	count(difference.before.policies) == 2
	count(difference.after.policies) == 1
}

test_the_limit_bounds_the_comparison_and_is_reported if {
	found := _impact_of([_cart_policy], {"policy": "example.com/ColorPolicy/shop/cart", "limit": 1})
	found.counts.scopes == 2
	found.counts.compared == 1
	count(found.ifDeleted) == 1
}

test_impact_heeds_changes if {
	query_input := object.union(testing.changed([_cart_policy]), {"policy": "example.com/ColorPolicy/shop/cart"})
	gone := object.union(query_input.changes, {"delete": ["gateway.networking.k8s.io/Gateway/infra/none"]})
	found := v1.impact with input as object.union(query_input, {"changes": gone})
	count(found.ifDeleted) == 2
}

test_a_bad_policy_is_an_error if {
	every row in [
		[{}, "InvalidInput"],
		[{"policy": 3}, "InvalidInput"],
		[{"policy": "ColorPolicy/cart"}, "InvalidInput"],
		[{"policy": "example.com/ColorPolicy/shop/gone"}, "TargetNotFound"],
		[{"policy": "core/Service/shop/cart"}, "UnknownPolicyKind"],
		[{"policy": "example.com/ColorPolicy/shop/cart", "limit": 0}, "InvalidInput"],
	] {
		_impact_of([_cart_policy], row[0]).error.code == row[1]
	}
}
