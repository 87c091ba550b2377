package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

_outcomes(specs, origins) := outcomes if {
	objects := [testing.color("shop", name, 1, [_cart_ref], spec) | some name, spec in specs]
	outcomes := effective.outcomes([_key(name) | some name, _ in specs], origins) with input as testing.changed(objects)
}

# O3
test_a_policy_is_programmed_in_part_or_overridden_by_what_became_of_its_leaves if {
	_outcomes(
		{"a": {"x": 1, "y": 1}, "b": {"y": 2}, "c": {"y": 3}},
		{"/x": _key("a"), "/y": _key("b")},
	) == {
		_key("a"): {"outcome": "PartiallyProgrammed", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
		_key("c"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
	}
}

# O3
test_what_stands_below_a_lost_leaf_overrides_it if {
	_outcomes({"a": {"x": 1}, "b": {"x": {"y": 1}}, "c": {"z": 1}}, {"/x/y": _key("b"), "/z": _key("c")}) == {
		_key("a"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
		_key("c"): {"outcome": "Programmed", "overriddenBy": []},
	}
}

# O3
test_where_nothing_stands_in_place_of_a_lost_leaf_all_contributors_override_it if {
	_outcomes({"a": {"x": 1}, "b": {"y": 1}, "c": {"z": 1}}, {"/y": _key("b"), "/z": _key("c")})[_key("a")] == {
		"outcome": "Overridden",
		"overriddenBy": [_key("b"), _key("c")],
	}
}

# O3
test_an_empty_atomic_winner_is_programmed_and_an_empty_patch_overridden if {
	_outcomes({"a": {}, "b": {"x": 1}}, {"": _key("a")}) == {
		_key("a"): {"outcome": "Programmed", "overriddenBy": []},
		_key("b"): {"outcome": "Overridden", "overriddenBy": [_key("a")]},
	}
	_outcomes({"a": {}, "b": {"x": 1}}, {"/x": _key("b")}) == {
		_key("a"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
	}
}
