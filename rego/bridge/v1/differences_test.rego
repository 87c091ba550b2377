package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_stored_world := array.concat(testing.world, [_cart_policy])

_differences(fields) := found if {
	kinds := v1.kinds_in_force with data.objects as testing.stored(_stored_world)
	found := v1.differences with input as fields
		with data.objects as testing.stored(_stored_world)
		with data.index as testing.stored_index(_stored_world)
		with data.kinds as kinds
}

test_differences_tell_before_and_after if {
	found := _differences({
		"scopes": {_color: [_rule_one, testing.cart_pay]},
		"changes": {"upsert": [_pay_policy]},
	})
	[[difference.target, difference.before.spec, difference.after.spec] | some difference in found] == [[testing.cart_pay, {"theme": "dark"}, {"theme": "light"}]]
}

test_a_target_that_comes_or_goes_has_nothing_on_one_side if {
	gone := _differences({"scopes": {_color: [testing.cart_pay]}, "changes": {"delete": [testing.cart_route]}})
	[[difference.before.spec, difference.after] | some difference in gone] == [[{"theme": "dark"}, null]]
	cut := testing.route("cart", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{"name": "new"}])
	come := _differences({
		"scopes": {_color: ["gateway.networking.k8s.io/HTTPRoute/shop/cart#new"]},
		"changes": {"upsert": [cut]},
	})
	[[difference.before, difference.after.spec] | some difference in come] == [[null, {"theme": "dark"}]]
}

test_a_kind_that_comes_into_force_has_nothing_before if {
	fresh := object.union(testing.color_kind, {"kind": "FreshPolicy"})
	policy := object.union(_cart_policy, {"kind": "FreshPolicy"})
	found := _differences({
		"scopes": {"example.com/FreshPolicy": [_rule_one]},
		"changes": {"upsert": [testing.policykind(fresh), policy]},
	})
	[[difference.policyKind, difference.before, difference.after.spec] | some difference in found] == [["example.com/FreshPolicy", null, {"theme": "dark"}]]
}

test_without_a_difference_there_is_none if {
	_differences({"scopes": {_color: [_rule_one]}, "changes": {"upsert": [_cart_policy]}}) == []
}

test_scopes_of_another_shape_are_an_error if {
	every scopes in [null, [], {_color: "all"}] {
		_differences({"scopes": scopes}).error.code == "InvalidInput"
	}
}
