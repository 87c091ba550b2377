package bridge.merge_test

import data.bridge.lib.leaves
import data.bridge.merge

_side(name, spec) := merge.side(name, spec, leaves.pointers(spec))

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
		leaves.without_nulls(merge.patched(_side("o", original), _side("p", patch)).spec) == result
	}
}

# RFC 7386, appendix A, but for the values that are no objects: below one field they are the same.
test_patched_below_a_field_is_rfc_7386_too if {
	every row in [
		[["a", "b"], ["c", "d"], ["c", "d"]],
		[{"a": "b"}, ["c"], ["c"]],
		[{"a": "foo"}, "bar", "bar"],
		[[1, 2], {"a": "b", "c": null}, {"a": "b"}],
	] {
		[original, patch, result] := row
		leaves.without_nulls(merge.patched(_side("o", {"x": original}), _side("p", {"x": patch})).spec) == {"x": result}
	}
}

# RFC 7386, appendix A: {"e": null} patched with {"a": 1} keeps its null; ours is a tombstone by F3.
test_a_null_of_the_target_is_a_tombstone_like_any_other if {
	patched := merge.patched(_side("o", {"e": null}), _side("p", {"a": 1}))
	patched == {"spec": {"e": null, "a": 1}, "origins": {"/e": "o", "/a": "p"}}
	leaves.without_nulls(patched.spec) == {"a": 1}
}

# O2
test_an_equal_value_is_the_patchs if {
	merge.patched(_side("o", {"a": 1}), _side("p", {"a": 1})) == {"spec": {"a": 1}, "origins": {"/a": "p"}}
}

# F3, O3
test_an_empty_patch_changes_nothing if {
	merge.patched(_side("o", {"a": {"b": 1}}), _side("p", {})) == {"spec": {"a": {"b": 1}}, "origins": {"/a/b": "o"}}
}

# O3
test_an_empty_patch_leaves_an_empty_spec_to_whom_it_is if {
	merge.patched(_side("o", {}), _side("p", {})) == {"spec": {}, "origins": {"": "o"}}
}

test_an_empty_object_does_not_take_fields_away if {
	merge.patched(_side("o", {"a": {"b": 1}}), _side("p", {"a": {}})) == {
		"spec": {"a": {"b": 1}},
		"origins": {"/a/b": "o"},
	}
}
