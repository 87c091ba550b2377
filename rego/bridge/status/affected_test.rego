package bridge.status_test

import data.bridge.status
import data.bridge.testing

_affected(acting, objects) := found if {
	found := status.affected("core/Service/shop/cart", acting) with input as testing.changed(objects)
}

_timeout_condition(message) := {
	"type": "example.com/TimeoutPolicyAffected",
	"status": "True",
	"reason": "Affected",
	"message": message,
}

# S4, GEP-713 "Target object status"
test_an_object_shows_which_policies_act_on_it if {
	_affected({"example.com/TimeoutPolicy": [_slow, "example.com/TimeoutPolicy/shop/fast"], "example.com/ColorPolicy": []}, []) == [_timeout_condition("Affected by TimeoutPolicy shop/fast, shop/slow")]
}

# S4
test_an_affected_condition_has_the_objects_generation if {
	service := object.union(testing.service("cart", []), {"metadata": {"generation": 3}})
	others := [obj | some obj in testing.world; obj.kind != "Service"]
	found := status.affected("core/Service/shop/cart", {"example.com/TimeoutPolicy": [_slow]}) with input as {"changes": {"upsert": array.concat(others, [service])}}
	found == [object.union(_timeout_condition("Affected by TimeoutPolicy shop/slow"), {"observedGeneration": 3})]
}

# S1
test_an_affected_condition_names_twenty_policies_and_counts_the_rest if {
	policies := [sprintf("example.com/TimeoutPolicy/shop/p%02d", [n]) | some n in numbers.range(1, 22)]
	named := concat(", ", [sprintf("shop/p%02d", [n]) | some n in numbers.range(1, 20)])
	_affected({"example.com/TimeoutPolicy": policies}, []) == [_timeout_condition(sprintf("Affected by TimeoutPolicy %s, and 2 more", [named]))]
}

_quiet(fields) := testing.policykind(object.union(
	{"group": "example.com", "kind": "QuietPolicy", "class": "Direct", "controllerName": "example.com/quiet"},
	fields,
))

# S4
test_a_kind_that_is_only_observed_or_has_no_fanout_marks_nothing if {
	every fields in [{"mode": "Observe"}, {"mode": "Manage", "fanout": "None"}] {
		_affected({"example.com/QuietPolicy": ["example.com/QuietPolicy/shop/q"]}, [_quiet(fields)]) == []
	}
}

# S4
test_condition_types_of_every_managed_kind_are_ours if {
	types := status.our_types with input as testing.changed([_quiet({"mode": "Manage", "fanout": "None"})])
	types == {
		"example.com/ColorPolicyAffected",
		"example.com/TimeoutPolicyAffected",
		"example.com/QuietPolicyAffected",
	}
}

# S4
test_policies_that_are_not_overridden_on_some_path_act_on_the_object_of_it if {
	policies := [
		_timeout([testing.service_ref("cart")]),
		testing.timeout("younger", 2, [testing.service_ref("cart")], {"request": "2s"}),
		testing.color("shop", "low", 1, [_cart_ref], {"theme": "dark"}),
		testing.color("shop", "high", 2, [_cart_ref], {"theme": "light"}),
	]
	acting := [found |
		some key in ["core/Service/shop/cart", testing.cart_route, "gateway.networking.k8s.io/Gateway/infra/public"]
		found := status.acting(key) with input as testing.changed(policies)
	]
	acting == [
		{"example.com/TimeoutPolicy": {_slow}},
		{"example.com/ColorPolicy": {"example.com/ColorPolicy/shop/high"}},
		{},
	]
}
