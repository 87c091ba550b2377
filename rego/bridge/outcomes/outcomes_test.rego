package bridge.outcomes_test

import data.bridge.effective
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.testing

_key(name) := sprintf("example.com/ColorPolicy/shop/%s", [name])

_cart_ref := testing.ref("HTTPRoute", "cart")

_at_gateway := testing.far_ref("Gateway", "infra", "public")

_infra_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "Gateway")

_high := testing.color("shop", "high", 2, [_at_gateway], {"overrides": {"theme": "dark"}})

_low := testing.color("shop", "low", 1, [_cart_ref], {"theme": "light"})

_cart_mark := [testing.cart_route, json.marshal({"name": "public", "namespace": "infra", "sectionName": "http"})]

_scope(rule) := sprintf("Gateway/infra/public#http > HTTPRoute/shop/cart#%s", [rule])

test_rows_tell_the_outcome_of_each_policy_and_the_deciding_one if {
	rows := outcomes.outcomes_at("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([_high, _low, _infra_grant])
	rows == [
		{
			"policy": _key("high"),
			"targets": [_first_gateway],
			"ancestor": "",
			"outcome": "Programmed",
			"by": [],
			"scope": _scope("pay"),
			"marks": {[_first_gateway, ""], _cart_mark},
		},
		{
			"policy": _key("low"),
			"targets": [testing.cart_route],
			"ancestor": "",
			"outcome": "Overridden",
			"by": ["shop/high (Atomic overrides)"],
			"scope": _scope("pay"),
			"marks": set(),
		},
	]
}

test_a_policy_with_an_error_at_a_path_failed_there if {
	attached := [{"policy": _key("low"), "target": testing.cart_route} | some _ in numbers.range(0, effective.stack_bound)]
	rows := outcomes.outcomes_at("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([_low])
		with effective.stacks as [[testing.cart_pay_path, attached]]
	{row | some row in rows} == {{
		"policy": _key("low"),
		"targets": [testing.cart_route | some _ in numbers.range(0, effective.stack_bound)],
		"ancestor": "",
		"outcome": "Failed",
		"by": ["513 policies meet here; at most 512 can be merged"],
		"scope": _scope("pay"),
		"marks": set(),
	}}
}

test_tallies_count_a_policys_rows_over_all_that_it_reaches if {
	tallies := outcomes.tallies(_key("low")) with input as testing.changed([_high, _low, _infra_grant])
	tallies == [{
		"ancestor": "",
		"targets": [testing.cart_route],
		"outcome": "Overridden",
		"by": ["shop/high (Atomic overrides)"],
		"count": 2,
		"examples": [_scope("[1]"), _scope("pay")],
	}]
}

# T8
test_targets_that_a_policy_selects_by_fields_count_only_as_ancestors if {
	fate := {"policy": "example.com/ColorPolicy/shop/a", "targets": ["core/Pod/shop/a"]}
	every row in [[true, true, fate.targets], [false, true, []], [false, false, fate.targets]] {
		[above, by_fields, targets] := row
		outcomes._counted_targets("example.com/ColorPolicy", fate) == targets with outcomes.has_ancestors as above
			with policies.selects_by_fields as by_fields
	}
}
