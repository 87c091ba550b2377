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

# F4: a place of the policy above the pair decides nothing.
test_place_above_the_pair_decides_nothing if {
	policies := [
		["old", 1, "gateway,rule", _patch({"x": "old"})],
		["rule", 2, "route", _over({"x": "rule"})],
	]
	_held({"parentLevels": ["Route"]}, policies).by == {"rule": ["shop/old (Patch defaults)"]}
}
