package bridge.merge_test

import data.bridge.merge

_established := _side("established", {"a": 1, "b": {"c": 1}})

_challenger := _side("challenger", {"b": {"c": 2, "d": 2}})

test_a_side_holds_the_policy_as_origin_of_each_leaf if {
	_established == {"spec": {"a": 1, "b": {"c": 1}}, "origins": {"/a": "established", "/b/c": "established"}}
}

test_every_strategy_has_gep_713s_name if {
	merge.strategies == {
		"None": "None",
		"AtomicDefaults": "Atomic defaults",
		"AtomicOverrides": "Atomic overrides",
		"PatchDefaults": "Patch defaults",
		"PatchOverrides": "Patch overrides",
		"Custom": "Custom",
	}
}

test_an_unknown_strategy_merges_nothing if {
	not merge.step("Foo", _established, _challenger)
}
