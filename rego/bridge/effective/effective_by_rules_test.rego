package bridge.effective_test

_rules_kind := {
	"merge": {"listKeys": {"/rules": "id"}, "units": ["/limits/*"]},
	"strategies": {"patch": "Patch"},
}

# F8, O2, O3
test_outcomes_go_by_an_items_key_not_by_its_place if {
	policies := [
		["high", 1, "gateway", _patch({"rules": [{"id": "a", "rate": 1}, {"id": "b", "rate": 1}]})],
		["low", 2, "route", _patch({"rules": [{"id": "b", "rate": 2, "burst": 2}, {"id": "c", "rate": 2}]})],
	]
	_held(_rules_kind, policies) == {
		"spec": {"rules": [{"id": "b", "rate": 2, "burst": 2}, {"id": "c", "rate": 2}, {"id": "a", "rate": 1}]},
		"origins": {
			"/rules/0/id": "low", "/rules/0/rate": "low", "/rules/0/burst": "low",
			"/rules/1/id": "low", "/rules/1/rate": "low",
			"/rules/2/id": "high", "/rules/2/rate": "high",
		},
		"outcomes": {"high": "PartiallyProgrammed", "low": "Programmed"},
		"by": {"high": ["shop/low (Patch defaults)"]},
	}
}

# F3
test_a_tombstone_in_an_item_takes_a_field_of_that_item_away if {
	policies := [
		["high", 1, "gateway", _patch({"rules": [{"id": "a", "rate": 1, "burst": 1}]})],
		["low", 2, "route", _patch({"rules": [{"id": "z"}, {"id": "a", "burst": null}]})],
	]
	held := _held(_rules_kind, policies)
	held.spec == {"rules": [{"id": "z"}, {"id": "a", "rate": 1}]}
	held.origins["/rules/1/burst"] == "low"
	held.outcomes == {"high": "PartiallyProgrammed", "low": "Programmed"}
}

# F8, O3
test_a_unit_that_is_replaced_is_lost_as_a_whole if {
	policies := [
		["high", 1, "gateway", _patch({"limits": {"x": {"n": 1, "m": null}, "y": 1}})],
		["low", 2, "route", _patch({"limits": {"x": {"n": 2}}})],
	]
	held := _held(_rules_kind, policies)
	held.spec == {"limits": {"x": {"n": 2}, "y": 1}}
	held.outcomes == {"high": "PartiallyProgrammed", "low": "Programmed"}
}

# F7: of the two policies that merge, the most specific one chooses the rules for both.
test_rules_of_a_strategy_count_for_both_policies if {
	fields := {
		"parentLevels": ["Gateway"],
		"strategies": {"patch": "Patch", "strategic": {"strategy": "Patch", "merge": {"listKeys": {"/rules": "id"}}}},
	}
	high := ["high", 1, "gateway", _patch({"rules": [{"id": "a"}]})]
	held := _held(fields, [high, ["low", 2, "route", {"defaults": {"rules": [{"id": "b"}], "strategy": "strategic"}}]])
	held.spec == {"rules": [{"id": "b"}, {"id": "a"}]}
	held.outcomes == {"high": "Programmed", "low": "Programmed"}
	_held(fields, [high, ["low", 2, "route", _patch({"rules": [{"id": "b"}]})]]).spec == {"rules": [{"id": "b"}]}
}

# F7: the policy above has rules of its own that are ignored for the pair.
test_origins_go_by_the_rules_of_the_pair if {
	fields := {
		"parentLevels": ["Gateway"],
		"strategies": {"patch": "Patch", "strategic": {"strategy": "Patch", "merge": {"listKeys": {"/rules": "id"}}}},
	}
	high := ["high", 1, "gateway", {"defaults": {"rules": [{"id": "a"}], "strategy": "strategic"}}]
	_held(fields, [high, ["low", 2, "route", _patch({"x": 1})]]).origins == {"/rules": "high", "/x": "low"}
}
