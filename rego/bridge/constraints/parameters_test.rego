package bridge.constraints_test

import data.bridge.constraints

test_maps_merge_and_scalars_replace if {
	constraints.merge_parameters([{"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3, "z": 4}}]) == {"a": {"x": 1, "y": 3, "z": 4}, "b": 1}
}

test_a_list_appends_what_the_default_lacks if {
	constraints.merge_parameters([{"l": ["a", "b"]}, {"l": ["b", "c", "c"]}]) == {"l": ["a", "b", "c"]}
}

test_a_list_within_maps_appends if {
	constraints.merge_parameters([{"m": {"l": [1]}}, {"m": {"l": [2]}}, {"m": {"l": [1, 3]}}]) == {"m": {"l": [1, 2, 3]}}
}

test_the_default_stays_as_it_is if {
	constraints.merge_parameters([{"l": ["a", "a"]}, {"l": ["b"]}]) == {"l": ["a", "a", "b"]}
}

test_a_list_where_there_was_none_is_the_list if {
	constraints.merge_parameters([{}, {"l": ["b", "b"]}]) == {"l": ["b", "b"]}
}

test_what_is_within_a_list_is_a_value if {
	constraints.merge_parameters([{"l": [{"m": [1]}]}, {"l": [{"m": [2]}]}]) == {"l": [{"m": [1]}, {"m": [2]}]}
}

test_a_value_of_another_shape_replaces if {
	constraints.merge_parameters([{"a": [1], "b": {"x": 1}, "c": 1}, {"a": 5, "b": [1], "c": {"x": 1}}]) == {"a": 5, "b": [1], "c": {"x": 1}}
}

test_a_null_between_two_lists_takes_the_first_away if {
	constraints.merge_parameters([{"l": [1]}, {"l": null}, {"l": [2]}]) == {"l": [2]}
}

test_a_scalar_in_place_of_a_map_takes_its_lists_away if {
	constraints.merge_parameters([{"m": {"l": [1]}}, {"m": 5}, {"m": {"l": [2]}}]) == {"m": {"l": [2]}}
}

test_one_layer_is_itself if {
	constraints.merge_parameters([{"l": [1, 1]}]) == {"l": [1, 1]}
}

test_a_list_in_the_middle_is_kept_by_what_does_not_name_it if {
	constraints.merge_parameters([{"l": [1]}, {"l": [2]}, {"other": true}]) == {"l": [1, 2], "other": true}
}

test_names_with_slashes_and_tildes if {
	constraints.merge_parameters([{"a/b~c": {"": [1]}}, {"a/b~c": {"": [2]}}]) == {"a/b~c": {"": [1, 2]}}
}
