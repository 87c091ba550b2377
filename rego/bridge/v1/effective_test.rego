package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_color := "example.com/ColorPolicy"

_warm := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})

_warm_key := "example.com/ColorPolicy/shop/warm"

_slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})

_slow_key := "example.com/TimeoutPolicy/shop/slow"

_rule_one := "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"

_query_input(objects, fields) := object.union(testing.changed(objects), fields)

_entry_at(node) := {"target": node, "policyKind": _color, "paths": [{
	"path": array.concat(array.slice(testing.cart_pay_path, 0, 4), [node]),
	"spec": {"theme": "dark"},
	"origins": {"/theme": _warm_key},
	"policies": [{
		"policy": _warm_key,
		"target": testing.cart_route,
		"strategy": "AtomicDefaults",
		"outcome": "Programmed",
		"overriddenBy": [],
	}],
}]}

test_effective_answers_for_each_target_below_with_a_policy if {
	found := v1.effective with input as _query_input([_warm], {"targets": ["gateway.networking.k8s.io/Gateway/infra/public"]})
	found == [_entry_at(_rule_one), _entry_at(testing.cart_pay)]
}

# K3
test_effective_takes_a_named_rule_by_its_place if {
	query_input := _query_input([_warm, _slow], {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]"], "policyKind": _color})
	found := v1.effective with input as query_input
	found == [_entry_at(testing.cart_pay)]
}

test_effective_answers_from_what_is_stored_as_from_a_change if {
	objects := array.concat(testing.world, [_warm])
	kinds := v1.kinds_in_force with data.objects as testing.stored(objects)
	found := v1.effective with input as {"targets": [testing.cart_pay]}
		with data.objects as testing.stored(objects)
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds
	found == [_entry_at(testing.cart_pay)]
}

test_effective_has_nothing_for_a_target_without_policies if {
	found := v1.effective with input as _query_input([], {"targets": [testing.cart_pay]})
	found == []
}
