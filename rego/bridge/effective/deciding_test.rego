package bridge.effective_test

# F4, P4: `old` stands above and below `rule`; what was merged last was merged by its strategy.
test_of_a_policy_at_two_places_the_one_that_was_merged_last_decided if {
	policies := [
		["old", 1, "gateway,rule", _patch({"x": "old"})],
		["rule", 2, "route", _over({"x": "rule"})],
	]
	_held({"strategyFrom": "Challenger"}, policies).by == {"rule": ["shop/old (Patch defaults)"]}
	_held({"fold": "Stack"}, policies).by == {"old": ["shop/rule (Patch overrides)"]}
}

# F4: what lies too high to be merged decides nothing.
test_a_place_above_the_closest_two_decides_nothing if {
	policies := [
		["old", 1, "gateway,rule", _patch({"x": "old"})],
		["rule", 2, "route", _over({"x": "rule"})],
	]
	_held({"mergesWith": "Closest"}, policies).by == {"old": ["shop/rule (Patch overrides)"]}
}
