package bridge.constraints_test

import data.bridge.constraints
import data.bridge.testing

_team(name) := {"namespaceSelector": {"matchLabels": {"team": name}}}

_entry(name, parameters) := {"match": _team(name), "parameters": parameters}

_chosen(spec, team) := found if {
	namespace := _labelled(testing.resource("v1", "Namespace", "", "shop"), {"team": team})
	found := constraints.selection(spec, constraints.subject(_deployment)) with data.objects as testing.stored([namespace])
}

_spec(entries) := {"parameters": {"limit": 16}, "parameterSelection": entries}

test_the_first_entry_that_matches_is_merged_over_the_parameters if {
	spec := _spec([_entry("large", {"limit": 32}), _entry("larger", {"limit": 64}), {"parameters": {"limit": 8}}])
	_chosen(spec, "larger") == {"parameters": {"limit": 64}}
	_chosen(spec, "other") == {"parameters": {"limit": 8}}
}

test_parameters_are_set_where_there_are_no_defaults if {
	_chosen({"parameterSelection": [_entry("large", {"limit": 32})]}, "large") == {"parameters": {"limit": 32}}
}

test_without_a_match_the_parameters_stay_as_they_are if {
	_chosen(_spec([_entry("large", {"limit": 32})]), "other") == {"parameters": {"limit": 16}}
	_chosen({}, "other") == {"parameters": {}}
}

test_match_any_merges_all_that_match_in_their_order if {
	spec := object.union(
		_spec([_entry("large", {"limit": 32, "a": 1}), _entry("other", {"a": 3}), {"parameters": {"a": 2}}]),
		{"parameterSelectionBehavior": "MatchAny"},
	)
	_chosen(spec, "large") == {"parameters": {"limit": 32, "a": 2}}
	_chosen(spec, "none") == {"parameters": {"limit": 16, "a": 2}}
}

test_what_is_done_without_a_match_is_reported if {
	every said in ["allow", "warn", "deny"] {
		spec := object.union(_spec([_entry("large", {})]), {"onParameterSelectionNoMatch": said})
		_chosen(spec, "other") == {"unselected": said}
		_chosen(spec, "large") == {"parameters": {"limit": 16}}
	}
}
