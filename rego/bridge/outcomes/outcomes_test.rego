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
			"count": 1,
			"examples": [_scope("pay")],
			"marks": {[_first_gateway, ""], _cart_mark},
		},
		{
			"policy": _key("low"),
			"targets": [testing.cart_route],
			"ancestor": "",
			"outcome": "Overridden",
			"by": ["shop/high (Atomic overrides)"],
			"count": 1,
			"examples": [_scope("pay")],
			"marks": set(),
		},
	]
}

test_a_policy_with_an_error_at_a_path_failed_there if {
	attached := [{"policy": _key("low"), "target": testing.cart_route} | some _ in numbers.range(0, effective.stack_bound)]
	rows := outcomes.outcomes_at("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([_low])
		with effective.stacks_by_listener as [{"attached": attached, "path": testing.cart_pay_path, "heads": [array.slice(testing.cart_pay_path, 0, 3)]}]
	{row | some row in rows} == {{
		"policy": _key("low"),
		"targets": [testing.cart_route | some _ in numbers.range(0, effective.stack_bound)],
		"ancestor": "",
		"outcome": "Failed",
		"by": ["513 policies meet here; at most 512 can be merged"],
		"count": 1,
		"examples": [_scope("pay")],
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

# A route at a Gateway with three listeners, of which one has a policy of its own.
test_paths_with_the_same_policies_are_one_row if {
	listeners := [{"name": name, "port": port, "protocol": "HTTP"} | some [name, port] in [["a", 80], ["b", 81], ["c", 82]]]
	edge := testing.with_spec(testing.resource(testing.gateway_api, "Gateway", "shop", "edge"), {"gatewayClassName": "example", "listeners": listeners})
	wide := testing.with_spec(testing.resource(testing.gateway_api, "HTTPRoute", "shop", "wide"), {"parentRefs": [{"name": "edge"}], "rules": [{"name": "all"}]})
	at_edge := testing.color("shop", "edge", 1, [testing.ref("Gateway", "edge")], {"theme": "dark"})
	at_listener := testing.color("shop", "b", 2, [testing.section_ref("Gateway", "edge", "b")], {"theme": "light"})
	rows := outcomes.outcomes_at("example.com/ColorPolicy", "gateway.networking.k8s.io/HTTPRoute/shop/wide#all") with input as testing.changed([edge, wide, at_edge, at_listener])
	{[row.policy, row.outcome, row.count, row.examples] | some row in rows} == {
		[_key("edge"), "Programmed", 2, [_at_wide("a"), _at_wide("c")]],
		[_key("edge"), "Overridden", 1, [_at_wide("b")]],
		[_key("b"), "Programmed", 1, [_at_wide("b")]],
	}
}

_at_wide(listener) := sprintf("Gateway/shop/edge#%s > HTTPRoute/shop/wide#all", [listener])
