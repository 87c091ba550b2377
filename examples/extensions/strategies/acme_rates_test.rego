package examples.acme_rates_test

import data.bridge.effective
import data.bridge.strategies.acme_rates
import data.bridge.testing

_side(name, limits) := {
	"spec": {"limits": limits},
	"policies": [name],
	"origins": {pointer: name | some limit, _ in limits; pointer := sprintf("/limits/%s/rate", [limit])},
}

test_the_lower_of_two_rates_wins_and_the_others_stay if {
	result := acme_rates.result with input as {
		"established": _side("high", {"login": {"rate": 5}, "search": {"rate": 50}}),
		"challenger": _side("low", {"login": {"rate": 10}, "search": {"rate": 20}, "pay": {"rate": 1}}),
		"policyKind": "acme.example/RatePolicy",
	}
	result == {
		"spec": {"limits": {"login": {"rate": 5}, "search": {"rate": 20}, "pay": {"rate": 1}}},
		"origins": {"/limits/login/rate": "high", "/limits/search/rate": "low", "/limits/pay/rate": "low"},
	}
}

test_the_bridge_merges_by_it if {
	kind := object.union(testing.color_kind, {"kind": "RatePolicy", "custom": "acme_rates", "defaultStrategy": "Custom"})
	policies := [object.union(testing.color("shop", name, minute, [ref], {"limits": limits}), {"kind": "RatePolicy"}) |
		some [name, minute, ref, limits] in [
			["route", 1, testing.ref("HTTPRoute", "cart"), {"login": {"rate": 5}}],
			["rule", 2, testing.section_ref("HTTPRoute", "cart", "pay"), {"login": {"rate": 10}, "pay": {"rate": 1}}],
		]
	]
	entries := effective.policies_of("example.com/RatePolicy", testing.cart_pay, "") with input as testing.changed(array.concat(policies, [testing.policykind(kind)]))
	entries[0].spec == {"limits": {"login": {"rate": 5}, "pay": {"rate": 1}}}
	{row.policy: row.outcome | some row in entries[0].policies} == {
		"example.com/RatePolicy/shop/route": "Programmed",
		"example.com/RatePolicy/shop/rule": "PartiallyProgrammed",
	}
}
