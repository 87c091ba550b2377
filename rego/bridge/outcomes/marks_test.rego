package bridge.outcomes_test

import data.bridge.outcomes
import data.bridge.testing

_marks(outcome) := marks if {
	fate := {"outcome": outcome, "targets": [testing.listener_http, "core/Namespace/-/shop"]}
	marks := outcomes.marks({testing.listener_http}, testing.cart_pay, fate) with input as testing.changed([])
}

# S4, GEP-713 "Target object status"
test_a_policy_is_reported_at_its_targets_and_at_the_effective_target if {
	_marks("PartiallyProgrammed") == {["core/Namespace/-/shop", ""], [_first_gateway, "http"], _cart_mark}
}

# S4
test_a_policy_that_is_overridden_or_not_computed_is_reported_nowhere if {
	every outcome in ["Overridden", "Failed"] {
		_marks(outcome) == set()
	}
}

# S4
test_a_listener_and_a_route_tell_in_their_own_places_and_all_else_in_the_object if {
	places := [outcomes.places(node, {testing.listener_http}) |
		some node in [testing.listener_http, _first_gateway, "core/Service/shop/cart#http", "core/Service/shop/cart@frontend"]
	]
	places == [
		{[_first_gateway, "http"]},
		{[_first_gateway, ""]},
		{["core/Service/shop/cart", ""]},
		{["core/Service/shop/cart", ""]},
	]
	routes := [found |
		some above in [testing.listener_http, ""]
		found := outcomes.places(testing.cart_pay, {above}) with input as testing.changed([])
	]
	routes == [{_cart_mark}, {_cart_mark}]
}

# S4
test_the_objects_above_a_route_are_found_beside_namespaces if {
	path := array.concat([testing.listener_http, "core/Namespace/-/shop"], [testing.cart_route, testing.cart_pay])
	found := [outcomes.above_route(each) |
		some each in [path, array.slice(path, 1, 4), [testing.cart_route], [testing.listener_http], ["…", testing.cart_pay]]
	]
	found == [testing.listener_http, "", "", "", ""]
}
