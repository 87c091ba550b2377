package bridge.effective_test

_rules_kind := {
	"merge": {"listKeys": {"/rules": "id"}, "append": ["/audit"], "units": ["/limits/*"]},
	"strategies": {"patch": "Patch", "plain": {"strategy": "Patch", "merge": {}}, "whole": {"strategy": "Patch", "merge": {"units": ["/rules"]}}},
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

# F8, O3: what is appended is whole wherever it stands.
test_who_appends_to_a_list_is_whole if {
	policies := [
		["high", 1, "gateway", _patch({"audit": [{"to": "a", "at": null}]})],
		["low", 2, "route", _patch({"audit": [{"to": "b"}, {"to": "a"}], "limits": {"x": {"n": 1, "m": null}}})],
		["rule", 3, "rule", _patch({"audit": [], "limits": {"x": {"n": 2}}})],
	]
	_held(_rules_kind, policies) == {
		"spec": {"audit": [{"to": "a", "at": null}, {"to": "b"}, {"to": "a"}], "limits": {"x": {"n": 2}}},
		"origins": {"/audit/0": "high", "/audit/1": "low", "/audit/2": "low", "/limits/x": "rule"},
		"outcomes": {"high": "Programmed", "low": "PartiallyProgrammed", "rule": "PartiallyProgrammed"},
		"by": {"low": ["shop/rule (Patch defaults)"]},
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

# F7: the rules of a strategy replace the kind's at the seam that its join makes, here between the Gateway's and the route's.
test_rules_of_a_strategy_replace_those_of_the_kind if {
	policies := [
		["high", 1, "gateway", {"defaults": {"rules": [{"id": "a"}], "audit": [1], "strategy": "plain"}}],
		["low", 2, "route", _patch({"rules": [{"id": "b"}]})],
		["rule", 3, "rule", _patch({"rules": [{"id": "c"}], "audit": [3]})],
	]
	held := _held(_rules_kind, policies)
	held.spec == {"rules": [{"id": "c"}, {"id": "b"}], "audit": [1, 3]}
	held.origins == {"/rules/0/id": "rule", "/rules/1/id": "low", "/audit/0": "high", "/audit/1": "rule"}
	held.outcomes == {"high": "PartiallyProgrammed", "low": "Programmed", "rule": "Programmed"}
}
