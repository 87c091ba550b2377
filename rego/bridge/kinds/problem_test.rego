package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

test_the_descriptions_of_the_fixtures_make_sense if {
	kinds.problems(testing.color_kind) == []
	kinds.problems(testing.timeout_kind) == []
	not kinds.problem(testing.color_kind)
}

_with(fields) := kinds.problems(object.union(_least, fields))

_direct := {"class": "Direct", "effectiveTarget": "Target"}

_inherited_none_message := "strategy None needs class Direct: an Inherited kind merges along the hierarchy"

# C3
test_an_inherited_kind_has_no_strategy_none if {
	every fields in [
		{"defaultStrategy": "None"},
		{"specPaths": [{"path": "/spec", "strategy": "None"}]},
		{"strategies": {"off": "None"}},
	] {
		_with(fields) == [_inherited_none_message]
	}
}

# C2
test_a_direct_kind_has_no_strategy_but_none if {
	every fields in [
		{"defaultStrategy": "PatchDefaults"},
		{"strategies": {"merge": "Patch"}},
		{"specPaths": [{"path": "/spec", "strategy": "AtomicOverrides"}]},
	] {
		_with(object.union(fields, _direct)) == ["class Direct allows only the strategies None and Additive"]
	}
	_with(object.union(_direct, {"defaultStrategy": "None"})) == []
}

test_an_inherited_kind_needs_its_effective_target if {
	kinds.problem({"kind": "RatePolicy"}) == "effectiveTarget is missing: an Inherited kind needs the level at which it acts"
}

test_mode_manage_needs_a_controller_name if {
	message := "controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name"
	every name in ["", "acme.io", "/x", "acme.io/", "acme io/x", "Acme.io/x", "acme.io/x y"] {
		_with({"mode": "Manage", "controllerName": name}) == [message]
	}
	_with({"mode": "Manage"}) == [message]
	_with({"mode": "Manage", "controllerName": "acme.io/rates"}) == []
}

# C2
test_policies_of_a_direct_kind_for_one_target_are_in_conflict if {
	kinds.problems({"group": "acme.io", "kind": "RatePolicy", "class": "Direct", "sameLevel": "OlderEstablished"}) == [concat("", [
		"class Direct allows only sameLevel Conflict and ConflictOnOverlap: ",
		"only the older of two policies for one target is accepted",
	])]
}

# F9
test_the_strategy_custom_needs_the_name_of_its_package if {
	every fields in [{"defaultStrategy": "Custom"}, {"strategies": {"own": "Custom"}}, {"specPaths": [{"path": "/spec", "strategy": "Custom"}]}] {
		_with(fields) == ["strategy Custom needs custom: the name of its package in bridge.strategies"]
		_with(object.union(fields, {"custom": "rates"})) == []
	}
	_with(object.union(_direct, {"custom": "rates"})) == ["class Direct allows only the strategies None and Additive"]
}

# F4
test_parent_levels_merge_two_policies_of_an_inherited_kind if {
	levels := {"parentLevels": ["Gateway"]}
	_with(levels) == []
	_with(object.union(levels, _direct)) == ["class Direct merges nothing: parentLevels needs class Inherited"]
	_with(object.union(levels, {"sameLevel": "OldestWins"})) == ["parentLevels merges two policies: sameLevel OldestWins does not apply"]
}

# F7, F9
test_merge_rules_are_of_the_kind_or_chosen_by_the_most_specific_policy if {
	fields := {"strategies": {"own": {"strategy": "Patch", "merge": {"units": ["/a"]}}}}
	_with(object.union(fields, {"parentLevels": ["Gateway"]})) == []
	some message in _with(fields)
	startswith(message, "strategies: merge rules for one strategy need parentLevels")
	_with({"custom": "rates", "merge": {"units": ["/a"]}}) == ["custom merges by its own Rego: merge has no effect on it"]
}
