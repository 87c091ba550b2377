package bridge.merge_test

import data.bridge.merge

_by_custom(answer) := merged if {
	merged := merge.custom_merge(
		"acme",
		"acme.io/RatePolicy",
		merge.keyed_side({"a": 1, "b": 2, "c": {"d": 1}}, "e", []),
		merge.keyed_side({"a": 3, "b": 2}, "c", []),
	) with data.bridge.strategies as {"acme": {"result": answer}}
}

# F9
test_a_leaf_without_origin_is_that_of_the_equal_one_the_challenger_first_else_of_both if {
	merged := _by_custom({"spec": {"a": 2, "b": 2, "c": {"d": 1}, "e": []}})
	merged.origins == {"/a": ["c", "e"], "/b": "c", "/c/d": "e", "/e": ["c", "e"]}
}

# F9
test_the_answers_origins_count_first if {
	merged := _by_custom({"spec": {"a": 2, "b": 2}, "origins": {"/a": "e", "/b": ["e", "c"]}})
	merged == {"spec": {"a": 2, "b": 2}, "origins": {"/a": "e", "/b": ["c", "e"]}}
	merge.plain_side(_by_custom({"spec": {}, "origins": {"": "e"}})) == {"spec": {}, "origins": {"": "e"}}
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
		_by_custom(row[0]) == {"error": {
			"code": "CustomStrategy",
			"message": sprintf("data.bridge.strategies.acme.result %s", [row[1]]),
		}}
	}
}

# F9
test_a_package_that_is_missing_is_an_error_for_the_pair if {
	failed := merge.custom_merge("none", "acme.io/RatePolicy", {"spec": {}, "origins": {"": "e"}}, {"spec": {}, "origins": {"": "c"}})
	failed == {"error": {
		"code": "CustomStrategy",
		"message": "data.bridge.strategies.none.result is undefined for this pair, or the package does not exist",
	}}
}
