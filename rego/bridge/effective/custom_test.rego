package bridge.effective_test

import data.bridge.effective
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.testing

_rates_kind := testing.policykind(object.union(
	testing.color_kind,
	{"kind": "HuePolicy", "custom": "rates", "strategies": {"own": "Custom", "patch": "Patch"}},
))

_rates_world(policies) := [testing.changed(array.concat([_rates_kind], [object.union(
	testing.color("shop", policy[0], policy[1], [_levels[policy[2]]], policy[3]),
	{"kind": "HuePolicy"},
) |
	some policy in policies
]))][0]

_two := [["low", 1, "route", {"a": 1, "strategy": "own"}], ["rule", 2, "rule", {"a": 3, "b": 1}]]

# F9, O3
test_a_value_of_two_policies_is_in_part_of_each if {
	answer := {"result": {"spec": {"a": 2, "b": 1}}}
	entry := effective.policies_of("example.com/HuePolicy", testing.cart_pay, "")[0] with input as _rates_world(_two)
		with data.bridge.strategies as {"rates": answer}
	entry.spec == {"a": 2, "b": 1}
	entry.origins == {"/a": [_hue("low"), _hue("rule")], "/b": _hue("rule")}
	[[row.outcome, row.overriddenBy] | some row in entry.policies] == [
		["PartiallyProgrammed", [_hue("rule")]],
		["PartiallyProgrammed", [_hue("low")]],
	]
}

# F9
test_a_wrong_answer_of_custom_is_an_error_for_its_path if {
	entries := effective.explanations("example.com/HuePolicy", testing.cart_pay, "") with input as _rates_world(_two)
	rows := outcomes.outcomes_at("example.com/HuePolicy", testing.cart_pay) with input as _rates_world(_two)
	message := "data.bridge.strategies.rates.result is undefined for this pair, or the package does not exist"
	[entry.error | some entry in entries] == [{"code": "CustomStrategy", "message": message}]
	[step.error.code | some step in entries[0].steps] == ["CustomStrategy"]
	not entries[0].spec
	[[row.outcome, row.by] | some row in rows] == [["Failed", [message]], ["Failed", [message]]]
}

# F7
test_custom_is_a_strategy_only_where_the_kind_has_one if {
	with_one := policies.strategy_of(_hue("low")) with input as _rates_world([["low", 1, "route", {"strategy": "Custom"}]])
	with_one == "Custom"
	invalid := policies.facts(_key("low")).invalid with input as testing.changed([testing.color("shop", "low", 1, [_cart_ref], {"strategy": "Custom"})])
	startswith(invalid, "Strategy Custom is unknown")
}
