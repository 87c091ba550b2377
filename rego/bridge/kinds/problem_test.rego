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

test_a_value_that_a_field_does_not_have_is_reported_with_those_that_it_has if {
	_with({"mode": "On"}) == [`mode: "On" is not one of Observe, Manage`]
	_with({"fanout": null}) == ["fanout: null is not one of EffectiveTargets, DeclaredTargets, None"]
	_with({"defaultStrategy": "Foo"}) == [concat("", [
		`defaultStrategy: "Foo" is not one of `,
		"Additive, AtomicDefaults, AtomicOverrides, Custom, None, PatchDefaults, PatchOverrides",
	])]
}

# C2
test_policies_of_a_direct_kind_for_one_target_are_in_conflict if {
	kinds.problems({"group": "acme.io", "kind": "RatePolicy", "class": "Direct", "sameLevel": "OlderEstablished"}) == [concat("", [
		"class Direct allows only sameLevel Conflict and ConflictOnOverlap: ",
		"only the older of two policies for one target is accepted",
	])]
}

# C2
test_a_direct_kind_has_no_way_to_merge_at_all if {
	every fields in [{"strategyFrom": "Challenger"}, {"mergesWith": "Closest"}, {"fold": "Stack"}] {
		_with(object.union(fields, _direct)) == [concat("", [
			"class Direct merges nothing: ",
			"strategyFrom, mergesWith, fold and wrappers need class Inherited",
		])]
	}
}

# F2, F4
test_the_stack_process_takes_no_strategy_from_the_challenger if {
	_with({"fold": "Stack", "strategyFrom": "Challenger"}) == [concat("", [
		"fold: Stack uses the strategy of the higher policy of a pair, ",
		"strategyFrom: Challenger that of the lower one: set only one of them",
	])]
	every fields in [
		{"fold": "Stack", "mergesWith": "Closest"},
		{"strategyFrom": "Challenger", "mergesWith": "Closest"},
		{"strategyFrom": "Challenger", "sameLevel": "OldestWins"},
		{"fold": "Stack", "sameLevel": "OldestWins"},
	] {
		_with(fields) == []
	}
}

# F4
test_parent_levels_are_for_a_kind_that_merges_with_the_closest_alone if {
	every fields in [{}, {"mergesWith": "All"}] {
		_with(object.union(fields, {"parentLevels": ["Gateway"]})) == [concat("", [
			"parentLevels needs mergesWith Closest: ",
			"it selects the policy above that merges with the most specific one",
		])]
	}
	_with({"mergesWith": "Closest", "parentLevels": ["Gateway"]}) == []
}

# F9
test_the_strategy_custom_needs_the_name_of_its_package if {
	every fields in [{"defaultStrategy": "Custom"}, {"strategies": {"own": "Custom"}}, {"specPaths": [{"path": "/spec", "strategy": "Custom"}]}] {
		_with(fields) == ["strategy Custom needs custom: the name of its package in bridge.strategies"]
		_with(object.union(fields, {"custom": "rates"})) == []
	}
	_with(object.union(_direct, {"custom": "rates"})) == ["class Direct allows only the strategies None and Additive"]
}

# F6
test_a_kind_with_both_wrappers_has_one_order_by_field if {
	wrapped := {"wrappers": "Both", "specPaths": [
		{"path": "/spec/override", "strategy": "PatchOverrides"},
		{"path": "/spec/default", "strategy": "PatchDefaults"},
		{"path": "/spec"},
	]}
	_with(wrapped) == []
	_with(object.union(wrapped, {"sameLevel": "OldestWins", "mergesWith": "Closest", "merge": {"units": ["/a"]}})) == []
	every row in [
		[{"specPaths": [{"path": "/spec/override", "strategy": "AtomicOverrides"}]}, "merges by field"],
		[{"specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]}, "allows no strategies"],
		[{"strategies": {"a": "Patch"}}, "allows no strategies"],
		[{"defaultStrategy": "PatchOverrides"}, "allows no strategies"],
		[{"custom": "rates"}, "allows no strategies"],
		[{"sameLevel": "OlderEstablished"}, "needs sameLevel OldestWins"],
		[{"strategyFrom": "Challenger"}, "has its own order"],
		[{"fold": "Stack"}, "has its own order"],
	] {
		[fields, part] := row
		messages := _with(object.union(wrapped, fields))
		count(messages) == 1
		contains(messages[0], part)
	}
}
