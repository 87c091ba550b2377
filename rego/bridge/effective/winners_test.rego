package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

# C2
test_policy_of_a_section_wins_over_that_of_its_object_under_none if {
	whole := testing.timeout("whole", 1, [testing.service_ref("cart")], {"request": "1s"})
	part := testing.timeout("part", 2, [object.union(testing.service_ref("cart"), {"sectionName": "http"})], {"request": "2s"})
	[entry] := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/cart#http", "") with input as testing.changed([whole, part])
	[[row.outcome, row.overriddenBy] | some row in entry.policies] == [
		["Overridden", ["example.com/TimeoutPolicy/shop/part"]],
		["Programmed", []],
	]
}

# F4, P4: `old` is above and below `rule`, and wins in both pairs; the first one is named.
test_policy_at_two_places_wins_by_the_first_pair_that_it_can_win if {
	policies := [
		["old", 1, "gateway,rule", _patch({"x": "old"})],
		["rule", 2, "route", _over({"x": "rule"})],
	]
	_held({"strategyFrom": "Challenger"}, policies).by == {"rule": ["shop/old (Patch overrides)"]}
	_held({"fold": "Stack"}, policies).by == {"old": ["shop/rule (Patch overrides)"]}
}

# F4
test_place_above_the_closest_two_decides_nothing if {
	policies := [
		["old", 1, "gateway,rule", _patch({"x": "old"})],
		["rule", 2, "route", _over({"x": "rule"})],
	]
	_held({"mergesWith": "Closest"}, policies).by == {"old": ["shop/rule (Patch overrides)"]}
}
