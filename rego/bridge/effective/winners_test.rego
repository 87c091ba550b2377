package bridge.effective_test

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
