package bridge.policy_test

import data.bridge.testing

_both_fields := {
	"wrappers": "Both",
	"specPaths": [
		{"path": "/spec/override", "strategy": "PatchOverrides"},
		{"path": "/spec/default", "strategy": "PatchDefaults"},
		{"path": "/spec"},
	],
	"merge": {"append": ["/log"]},
}

_both_kind := object.union(object.remove(testing.color_kind, ["strategies", "specPaths"]), object.union({"kind": "HuePolicy"}, _both_fields))

_both_policy := "example.com/HuePolicy/shop/a"

_both_world(spec) := testing.changed([
	testing.policykind(_both_kind),
	object.union(testing.color("shop", "a", 1, [_cart_ref], spec), {"kind": "HuePolicy"}),
])

# F6, T2
test_a_wrapper_of_no_object_and_fields_beside_wrappers_are_errors if {
	every row in [
		[{"override": "x", "default": {}}, "/spec/override is not an object"],
		[{"override": {}, "default": [1]}, "/spec/default is not an object"],
		[{"override": {}, "x": 1}, "Fields beside /spec/override: x. A policy has its wrappers and nothing beside them"],
	] {
		proper := _said(_both_policy) with input as _both_world(row[0])
		proper == {"error": row[1]}
	}
	bare := object.union(object.remove(testing.color("shop", "a", 1, [], {}), ["spec"]), {"kind": "HuePolicy"})
	proper := _said(_both_policy) with input as testing.changed([testing.policykind(_both_kind), bare])
	proper == {"error": "Policy has no spec"}
}

# F6
test_two_wrappers_of_one_direction_are_an_error if {
	twice := object.union(_both_kind, {"specPaths": array.concat(_both_fields.specPaths, [{"path": "/spec/overrides", "strategy": "PatchOverrides"}])})
	policy := object.union(testing.color("shop", "a", 1, [], {"override": {}, "overrides": {}}), {"kind": "HuePolicy"})
	proper := _said(_both_policy) with input as testing.changed([testing.policykind(twice), policy])
	proper == {"error": "/spec/override and /spec/overrides are equivalent: a policy has only one of them"}
}

test_the_strategy_reported_for_a_policy_is_that_of_its_strongest_part if {
	strategies := [proper.strategy |
		some spec in [{"override": {}, "default": {}}, {"default": {}}, {"x": 1}]
		proper := _said(_both_policy) with input as _both_world(spec)
	]
	strategies == ["PatchOverrides", "PatchDefaults", "PatchDefaults"]
}
