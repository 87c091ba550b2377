package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

_steps_of(fields, policies) := [[_named(step.established), _named(step.challenger), step.strategy, step.result] |
	some step in entry.steps
] if {
	kind := testing.policykind(object.union(testing.color_kind, object.union({"kind": "HuePolicy"}, fields)))
	objects := [object.union(testing.color("shop", policy[0], policy[1], [_levels[policy[2]]], policy[3]), {"kind": "HuePolicy"}) |
		some policy in policies
	]
	grant := testing.grant("infra", "example.com", "HuePolicy", "shop", testing.gateway_group, "Gateway")
	entry := effective.explanations("example.com/HuePolicy", testing.cart_pay, "")[0] with input as testing.changed(array.concat(objects, [grant, kind]))
}

_three := [
	["high", 1, "gateway", _over({"x": 1})],
	["low", 2, "route", _patch({"x": 2, "y": 2})],
	["rule", 3, "rule", {"y": null}],
]

test_each_step_is_reported_in_the_order_of_the_fold if {
	_steps_of({}, _three) == [
		[["low"], ["rule"], "PatchDefaults", {"x": 2, "y": null}],
		[["high"], ["low", "rule"], "PatchOverrides", {"x": 1, "y": null}],
	]
	_steps_of({"parentLevels": ["Route"]}, _three) == [[
		["low"],
		["rule"],
		"AtomicDefaults",
		{"y": null},
	]]
	_steps_of({}, array.slice(_three, 0, 1)) == []
}

test_steps_within_a_level_come_before_that_of_the_level if {
	_steps_of({"sameLevel": "OldestWins"}, _same_level) == [
		[["old"], ["young"], "PatchOverrides", {"x": "old", "y": "old", "z": "young"}],
		[["high"], ["old", "young"], "PatchDefaults", {"x": "old", "y": "old", "z": "young", "w": "high"}],
	]
}

# Defaults leave the more specific side its values, overrides the higher one.
test_each_step_names_the_owner_of_kept_values if {
	objects := [
		testing.color("infra", "high", 1, [testing.ref("Gateway", "public")], _over({"x": 1})),
		testing.color("shop", "low", 2, [testing.ref("HTTPRoute", "cart")], _patch({"x": 2})),
		testing.color("shop", "rule", 3, [testing.section_ref("HTTPRoute", "cart", "pay")], {"y": 1}),
	]
	entry := effective.explanations("example.com/ColorPolicy", testing.cart_pay, "")[0] with input as testing.changed(objects)
	[[step.strategy, step.winner] | some step in entry.steps] == [
		["PatchDefaults", "Challenger"],
		["PatchOverrides", "Established"],
	]
}

test_a_path_that_is_an_error_has_no_steps if {
	attached := [{"policy": _key("low"), "target": testing.cart_route} | some _ in numbers.range(0, effective.stack_bound)]
	entries := effective.explanations("example.com/ColorPolicy", testing.cart_pay, "") with input as testing.changed([testing.color("shop", "low", 1, [_cart_ref], {})])
		with effective.stacks as [[testing.cart_pay_path, attached]]
	[[entry.error.code, entry.steps] | some entry in entries] == [["BoundExceeded", []]]
}
