package bridge.lib.leaves_test

import data.bridge.lib.leaves

# O1
test_leaves_are_scalars_nulls_arrays_and_empty_objects if {
	leaves.pointers({"a": 1, "b": {"c": null, "d": [1, {"e": 2}], "f": {}}}) == {"/a", "/b/c", "/b/d", "/b/f"}
}

# O1
test_an_empty_spec_is_one_leaf if {
	leaves.pointers({}) == {""}
}

# F3
test_tombstones_are_taken_out_but_not_of_arrays if {
	leaves.without_nulls({"a": null, "b": {"c": null, "d": [null, {"e": null}]}}) == {"b": {"d": [null, {"e": null}]}}
}

test_specs_without_tombstones_stay if {
	leaves.without_nulls({"a": {"b": 1}}) == {"a": {"b": 1}}
}

# RFC 6901, section 3
test_pointers_escape_slashes_and_tildes if {
	leaves.pointer(["a/b", "m~n", "~1"]) == "/a~1b/m~0n/~01"
}

test_segments_are_a_pointer_read_back if {
	every path in [[], [""], ["a/b", "m~n", "~1", ""]] {
		leaves.segments(leaves.pointer(path)) == path
	}
}

test_a_field_is_named_by_its_steps_as_on_the_page_and_in_tables if {
	[leaves.dotted(pointer) | some pointer in ["", "/colors/accent", "/rules/0/name", "/rules/*/x", "/labels/a.b~1c"]] == [
		"(all)", "colors.accent", "rules[0].name", "rules[*].x", `labels["a.b/c"]`,
	]
}
