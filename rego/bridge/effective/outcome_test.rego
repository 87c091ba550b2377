package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

# The outcomes of policies [name, spec], the established ones first, for a stack with these origins.
_outcomes(stack, origins) := {policy: fate |
	objects := [testing.color("shop", name, 1, [_cart_ref], spec) | some [name, spec] in stack]
	attached := [{"policy": _key(name), "target": testing.cart_route} | some [name, _] in stack]
	some policy in [entry.policy | some entry in attached]
	fate := effective.outcome(attached, policy) with input as testing.changed(objects)
		with effective.merged_stack as {"leaves": origins}
}

# O3
test_outcome_of_a_policy_follows_from_its_surviving_leaves if {
	_outcomes(
		[["c", {"y": 3}], ["a", {"x": 1, "y": 1}], ["b", {"y": 2}]],
		{"/x": _key("a"), "/y": _key("b")},
	) == {
		_key("a"): {"outcome": "PartiallyProgrammed", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
		_key("c"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
	}
}

# O3
test_leaves_below_a_lost_leaf_override_it if {
	_outcomes([["a", {"x": 1}], ["b", {"x": {"y": 1}}], ["c", {"z": 1}]], {"/x/y": _key("b"), "/z": _key("c")}) == {
		_key("a"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
		_key("c"): {"outcome": "Programmed", "overriddenBy": []},
	}
}

# O3
test_all_contributors_that_can_win_override_a_leaf_that_nothing_replaces if {
	stack := [[name, {"defaults": {field: 1, "strategy": "patch"}}] | some [name, field] in [["d", "w"], ["a", "x"], ["b", "y"], ["c", "z"]]]
	_outcomes(stack, {"/w": _key("d"), "/y": _key("b"), "/z": _key("c")})[_key("a")] == {
		"outcome": "Overridden",
		"overriddenBy": [_key("b"), _key("c")],
	}
}

# O3
test_default_of_a_higher_policy_never_overrides if {
	_outcomes([["a", {"x": 1}], ["b", {"x": 2}]], {"/x": _key("a")})[_key("b")] == {"outcome": "Overridden", "overriddenBy": []}
}

# O3
test_empty_atomic_winner_is_programmed_and_empty_patch_is_overridden if {
	_outcomes([["b", {"x": 1}], ["a", {}]], {"": _key("a")}) == {
		_key("a"): {"outcome": "Programmed", "overriddenBy": []},
		_key("b"): {"outcome": "Overridden", "overriddenBy": [_key("a")]},
	}
	_outcomes([["a", {}], ["b", {"x": 1}]], {"/x": _key("b")}) == {
		_key("a"): {"outcome": "Overridden", "overriddenBy": [_key("b")]},
		_key("b"): {"outcome": "Programmed", "overriddenBy": []},
	}
}

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
