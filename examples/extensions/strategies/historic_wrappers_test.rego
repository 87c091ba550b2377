package examples.historic_wrappers_test

import data.bridge.strategies.historic_wrappers

test_overrides_win_from_the_top_and_defaults_from_the_bottom if {
	result := historic_wrappers.result with input as {
		"established": {"spec": {"override": {"a": "high"}, "default": {"b": "high", "c": "high"}}},
		"challenger": {"spec": {"override": {"a": "low", "d": "low"}, "default": {"b": "low"}}},
	}
	result.spec == {"override": {"a": "high", "d": "low"}, "default": {"b": "low", "c": "high"}}
}

test_a_wrapper_that_no_policy_has_stays_absent if {
	result := historic_wrappers.result with input as {"established": {"spec": {"default": {"a": 1}}}, "challenger": {"spec": {"default": {}}}}
	result.spec == {"default": {"a": 1}}
}
