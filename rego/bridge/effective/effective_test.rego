package bridge.effective_test

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.testing

_at(objects) := entries if {
	entries := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed(objects)
}

_row(name, node, strategy, outcome, by) := {
	"policy": _key(name),
	"target": node,
	"strategy": strategy,
	"outcome": outcome,
	"overriddenBy": [_key(other) | some other in by],
}

test_an_effective_policy_is_reported_for_each_path_with_the_outcome_of_its_policies if {
	policies := [
		testing.color("shop", "low", 1, [_cart_ref], {"theme": "light", "contrast": 5}),
		testing.color("shop", "high", 2, [_at_gateway], {"overrides": {"theme": "dark", "strategy": "patch"}}),
	]
	_at(array.concat(policies, [_infra_grant])) == [{
		"path": testing.cart_pay_path,
		"spec": {"theme": "dark", "contrast": 5},
		"origins": {"/theme": _key("high"), "/contrast": _key("low")},
		"policies": [
			_row("high", "gateway.networking.k8s.io/Gateway/infra/public", "PatchOverrides", "Programmed", []),
			_row("low", testing.cart_route, "AtomicDefaults", "PartiallyProgrammed", ["high"]),
		],
	}]
}

test_a_path_without_policies_is_absent if {
	_at([]) == []
}

# P4
test_a_policy_at_two_places_is_listed_once if {
	_at([testing.color("shop", "warm", 1, [_at_gateway, _cart_ref], {"a": 1}), _infra_grant]) == [{
		"path": testing.cart_pay_path,
		"spec": {"a": 1},
		"origins": {"/a": _key("warm")},
		"policies": [_row("warm", "gateway.networking.k8s.io/Gateway/infra/public", "AtomicDefaults", "Programmed", [])],
	}]
}

# C2
test_a_direct_policy_at_a_section_wins_there_and_only_there if {
	kind := "example.com/TimeoutPolicy"
	whole := testing.timeout("whole", 1, [testing.service_ref("cart")], {"request": "1s"})
	part := testing.timeout("part", 2, [object.union(testing.service_ref("cart"), {"sectionName": "http"})], {"request": "2s"})
	specs := [spec |
		some node in ["core/Service/shop/cart", "core/Service/shop/cart#http", "core/Service/shop/cart#admin"]
		entries := effective.policies_of(kind, node, "") with input as testing.changed([whole, part])
		spec := [entry.spec | some entry in entries]
	]
	specs == [[{"request": "1s"}], [{"request": "2s"}], [{"request": "1s"}]]
}

_policies_without_outcome := [{"policy": _key("warm"), "target": testing.cart_route, "strategy": "AtomicDefaults"}]

# P7
test_a_path_above_the_bound_is_an_error_for_that_path if {
	path := [hierarchy.path_bound_mark, testing.cart_route, testing.cart_pay]
	policy := testing.color("shop", "warm", 1, [_cart_ref], {"a": 1})
	entries := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed([policy])
		with hierarchy.paths_to_object as {[hierarchy.path_bound_mark, testing.cart_route]}
	entries == [{
		"path": path,
		"error": {
			"code": "BoundExceeded",
			"message": "This target has more than 4096 paths, or a path with more than 16 objects",
		},
		"policies": _policies_without_outcome,
	}]
}

test_a_stack_above_the_bound_is_an_error_for_that_path if {
	attached := [{"policy": _key("warm"), "target": testing.cart_route} | some _ in numbers.range(0, effective.stack_bound)]
	policy := testing.color("shop", "warm", 1, [_cart_ref], {"a": 1})
	entries := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed([policy])
		with effective.stacks as [[testing.cart_pay_path, attached]]
	entries == [{
		"path": testing.cart_pay_path,
		"error": {"code": "BoundExceeded", "message": "513 policies meet here; at most 512 can be merged"},
		"policies": [_policies_without_outcome[0] | some _ in attached],
	}]
}

# T7
test_a_stack_with_more_leaves_than_the_bound_is_an_error_for_that_path if {
	names := [sprintf("p%d", [number]) | some number in numbers.range(1, 15)]
	attached := [{"policy": _key(name), "target": testing.cart_route} | some name in names]
	policies := [testing.color("shop", name, 1, [_cart_ref], {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}) | some name in names]
	entries := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed(policies)
		with effective.stacks as [[testing.cart_pay_path, attached]]
		with data.bridge_settings.bounds as {"leaves": 9}
	entries[0].error == {
		"code": "BoundExceeded",
		"message": "The policies that meet here have more than 72 values, the most that can be merged",
	}
	fewer := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed(policies)
		with effective.stacks as [[testing.cart_pay_path, array.slice(attached, 0, 8)]]
		with data.bridge_settings.bounds as {"leaves": 9}
	not fewer[0].error
}
