package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

# Each of two policies sets a thousand fields, half of them the other's too.
test_specs_of_a_thousand_leaves_are_merged_field_by_field if {
	upper := {sprintf("f%04d", [n]): "upper" | some n in numbers.range(0, 999)}
	lower := {sprintf("f%04d", [n]): "lower" | some n in numbers.range(500, 1499)}
	objects := [
		testing.color("shop", "upper", 1, [_cart_ref], {"defaults": object.union(upper, {"strategy": "patch"})}),
		testing.color("shop", "lower", 1, [_cart_ref], lower),
	]
	merged := effective.merged_stack([{"policy": _key(name), "target": testing.cart_route} | some name in ["upper", "lower"]]) with input as testing.changed(objects)
	merged.spec == object.union(upper, lower)
	counted := {name: count([1 | some origin in merged.origins; origin == _key(name)]) | some name in ["upper", "lower"]}
	counted == {"upper": 500, "lower": 1000}
}

# T7
test_many_small_policies_are_within_the_bound_on_leaves if {
	names := [sprintf("p%02d", [n]) | some n in numbers.range(1, 12)]
	objects := [testing.color("shop", name, 1, [_cart_ref], {"defaults": {"strategy": "patch", name: name}}) | some name in names]
	attached := [{"policy": _key(name), "target": testing.cart_route} | some name in names]
	not effective.error_of(attached, testing.cart_route) with input as testing.changed(objects)
}
