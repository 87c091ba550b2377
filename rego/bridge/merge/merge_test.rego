package bridge.merge_test

import data.bridge.lib.leaves
import data.bridge.merge

test_every_strategy_has_the_name_of_gep_713 if {
	merge.strategies == {
		"None": "None",
		"AtomicDefaults": "Atomic defaults",
		"AtomicOverrides": "Atomic overrides",
		"PatchDefaults": "Patch defaults",
		"PatchOverrides": "Patch overrides",
		"Custom": "Custom",
		"Additive": "Additive",
	}
}

_side(name, spec) := {"spec": spec, "origins": {pointer: name | some pointer in leaves.pointers(spec)}}

# RFC 7386, appendix A: original, patch, result; those whose sides are objects, as specs are.
_appendix_a := [
	[{"a": "b"}, {"a": "c"}, {"a": "c"}],
	[{"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}],
	[{"a": "b"}, {"a": null}, {}],
	[{"a": "b", "b": "c"}, {"a": null}, {"b": "c"}],
	[{"a": ["b"]}, {"a": "c"}, {"a": "c"}],
	[{"a": "c"}, {"a": ["b"]}, {"a": ["b"]}],
	[{"a": {"b": "c"}}, {"a": {"b": "d", "c": null}}, {"a": {"b": "d"}}],
	[{"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}],
	[{}, {"a": {"bb": {"ccc": null}}}, {"a": {"bb": {}}}],
]

# F3
test_patched_and_cleaned_is_rfc_7386s_appendix_a if {
	every row in _appendix_a {
		[original, patch, result] := row
		leaves.without_nulls(merge._patch_sides([_side("o", original), _side("p", patch)]).spec) == result
	}
}

# RFC 7386, appendix A, except for values that are not objects: below one field they are the same.
test_patched_below_a_field_is_rfc_7386_too if {
	every row in [
		[["a", "b"], ["c", "d"], ["c", "d"]],
		[{"a": "b"}, ["c"], ["c"]],
		[{"a": "foo"}, "bar", "bar"],
		[[1, 2], {"a": "b", "c": null}, {"a": "b"}],
	] {
		[original, patch, result] := row
		leaves.without_nulls(merge._patch_sides([_side("o", {"x": original}), _side("p", {"x": patch})]).spec) == {"x": result}
	}
}

# RFC 7386, appendix A: {"e": null} patched with {"a": 1} keeps its null; ours is a tombstone by F3.
test_a_null_of_the_target_is_a_tombstone_like_any_other if {
	patched := merge._patch_sides([_side("o", {"e": null}), _side("p", {"a": 1})])
	patched == {"spec": {"e": null, "a": 1}, "origins": {"/e": "o", "/a": "p"}}
	leaves.without_nulls(patched.spec) == {"a": 1}
}

# O2
test_an_equal_value_is_the_patchs if {
	merge._patch_sides([_side("o", {"a": 1}), _side("p", {"a": 1})]) == {"spec": {"a": 1}, "origins": {"/a": "p"}}
}

# F3, O3
test_an_empty_patch_changes_nothing if {
	merge._patch_sides([_side("o", {"a": {"b": 1}}), _side("p", {})]) == {"spec": {"a": {"b": 1}}, "origins": {"/a/b": "o"}}
}

# O3
test_an_empty_patch_leaves_an_empty_spec_to_its_owner if {
	merge._patch_sides([_side("o", {}), _side("p", {})]) == {"spec": {}, "origins": {"": "o"}}
}

test_an_empty_object_does_not_take_fields_away if {
	merge._patch_sides([_side("o", {"a": {"b": 1}}), _side("p", {"a": {}})]) == {
		"spec": {"a": {"b": 1}},
		"origins": {"/a/b": "o"},
	}
}

# F3: what a null or a scalar in the middle removed or replaced does not come back.
test_null_or_scalar_between_two_objects_removes_the_lower_one if {
	every middle in [null, 5, "x", false, [1], []] {
		merged := merge._patch_sides([_side("o", {"a": {"b": 1}}), _side("m", {"a": middle}), _side("p", {"a": {"c": 2}})])
		merged == {"spec": {"a": {"c": 2}}, "origins": {"/a/c": "p"}}
	}
}

# O1, O2
test_last_side_with_a_leaf_is_its_origin if {
	every row in [
		[[{"a": {}}, {"a": {}}], {"/a": 1}],
		[[{"a": {}}, {"a": {"b": 1}}], {"/a/b": 1}],
		[[{"a": {"b": 1}}, {"a": {}}], {"/a/b": 0}],
		[[{"a": 5}, {"a": {}}], {"/a": 1}],
		[[{"a": null}, {"a": {}}, {"a": {}}], {"/a": 2}],
		[[{"a": []}, {"a": []}], {"/a": 1}],
		[[{"a": {"b": 1}}, {"a": []}, {"a": {"b": 2}}], {"/a/b": 2}],
		[[{}, {}], {"": 0}],
		[[{}, {"a": 1}, {}], {"/a": 1}],
		[[{"a": {"b": null}}, {"a": {"b": {"c": null}}}], {"/a/b/c": 1}],
	] {
		[specs, origins] := row
		merge._patch_sides([_side(index, spec) | some index, spec in specs]).origins == origins
	}
}

# RFC 6901
test_pointers_of_odd_keys_are_distinguished if {
	specs := [
		{"a/b": 1, "a": {"b": 2, "": {"": 3}}, "m~n": 4, " ": {"x y": 5}, "": 6},
		{"a/b": {"c": 1}, "a": {"": {"": {"d": 1}}}, "m": {"n": 4}, "line\nbreak": {"/": 1}},
	]
	merged := merge._patch_sides([_side(index, spec) | some index, spec in specs])
	merged.origins == {
		"/a~1b/c": 1, "/a/b": 0, "/a///d": 1, "/m~0n": 0, "/m/n": 1, "/ /x y": 0, "/": 0, "/line\nbreak/~1": 1,
	}
}

test_key_that_begins_as_another_is_not_part_of_it if {
	merged := merge._patch_sides([_side("o", {"a": 1, "ab": {"c": 1}}), _side("p", {"a-b": {"c": 2}, "ab": {"d": 1}})])
	merged.origins == {"/a": "o", "/ab/c": "o", "/a-b/c": "p", "/ab/d": "p"}
}

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
	_by_custom({"spec": {}, "origins": {"": "e"}}) == {"spec": {}, "origins": {"": "e"}}
}

# F9
test_a_wrong_answer_is_an_error_for_the_pair if {
	every row in [
		[3, "is not an object {spec, origins}"],
		[{}, "has a spec that is not an object"],
		[{"spec": [1]}, "has a spec that is not an object"],
		[{"spec": {}, "origins": ["e"]}, "has origins that are not an object"],
		[{"spec": {"a": 1}, "origins": {"/b": "e"}}, `has an origin at "/b", where its spec has no value`],
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
