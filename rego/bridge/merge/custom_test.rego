package bridge.merge_test

import data.bridge.merge

_by_custom(answer, rules) := merged if {
	merged := merge.custom_merge(
		{"rules": rules, "custom": ["acme", "acme.io/RatePolicy"]},
		_side("e", {"a": 1, "b": 2, "c": {"d": 1}}),
		_side("c", {"a": 3, "b": 2}),
	) with data.bridge.strategies as {"acme": {"result": answer}}
}

# F9
test_a_leaf_without_origin_is_that_of_the_equal_one_the_challenger_first_else_of_both if {
	merged := merge.plain_side(_by_custom({"spec": {"a": 2, "b": 2, "c": {"d": 1}, "e": []}}, []))
	merged.origins == {"/a": ["c", "e"], "/b": "c", "/c/d": "e", "/e": ["c", "e"]}
}

# F9
test_the_answers_origins_count_first if {
	merged := merge.plain_side(_by_custom({"spec": {"a": 2, "b": 2}, "origins": {"/a": "e", "/b": ["e", "c"]}}, []))
	merged == {"spec": {"a": 2, "b": 2}, "origins": {"/a": "e", "/b": ["c", "e"]}}
	merge.plain_side(_by_custom({"spec": {}, "origins": {"": "e"}}, [])) == {"spec": {}, "origins": {"": "e"}}
}

# F9
test_a_wrong_answer_is_an_error_for_the_pair if {
	every row in [
		[3, "is not an object {spec, origins}"],
		[{}, "has a spec that is not an object"],
		[{"spec": [1]}, "has a spec that is not an object"],
		[{"spec": {}, "origins": ["e"]}, "has origins that are not an object"],
		[{"spec": {"a": 1}, "origins": {"/b": "e"}}, `has an origin at "/b", which is not a leaf of its spec`],
		[{"spec": {"a": 1}, "origins": {"/a": "x"}}, `has an origin at "/a" that is not a policy of either side`],
		[{"spec": {"a": 1}, "origins": {"/a": []}}, `has an origin at "/a" that is not a policy of either side`],
	] {
		_by_custom(row[0], []) == {"error": {
			"code": "CustomStrategy",
			"message": sprintf("data.bridge.strategies.acme.result %s", [row[1]]),
		}}
	}
}

# F9
test_a_package_that_is_missing_is_an_error_for_the_pair if {
	how := {"rules": [], "custom": ["none", "acme.io/RatePolicy"]}
	failed := merge.custom_merge(how, _side("e", {}), _side("c", {}))
	failed == {"error": {
		"code": "CustomStrategy",
		"message": "data.bridge.strategies.none.result is undefined for this pair, or the package does not exist",
	}}
}

# F8, F9: what the rules merge by key is compared by key.
test_custom_goes_by_the_keys_of_lists_too if {
	rules := merge.rules({"listKeys": {"/l": "id"}, "append": ["/m"]})
	how := {"rules": rules, "custom": ["acme", "acme.io/RatePolicy"]}
	merged := merge.custom_merge(
		how,
		merge.keyed_side({"l": [{"id": 1, "v": 1}], "m": [1]}, {"": "e"}, rules),
		merge.keyed_side({"l": [{"id": 2, "v": 2}]}, {"": "c"}, rules),
	) with data.bridge.strategies as {"acme": {"result": {"spec": {"l": [{"id": 2, "v": 2}, {"id": 1, "v": 3}], "m": [1]}}}}
	merge.plain_side(merged).origins == {"/l/0/id": "c", "/l/0/v": "c", "/l/1/id": "e", "/l/1/v": ["c", "e"], "/m": "e"}
}
