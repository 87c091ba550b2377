package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_teal := "example.com/ColorPolicy/shop/teal"

_searched(words) := found if {
	policy := testing.color("shop", "teal", 1, [testing.ref("HTTPRoute", "cart")], {"defaults": {"colors": {"accent": "Teal"}, "weights": [3, 5]}})
	found := v1.search with input as object.union(testing.changed([policy]), {"words": words})
}

test_search_finds_values_and_names_of_fields if {
	by_value := _searched(["teal"])
	by_value == [{"policy": _teal, "fields": [{"field": "/defaults/colors/accent", "value": "Teal"}]}]
	_searched(["colors.acc"]) == by_value
	_searched(["accent", "colorpolicy/shop"]) == by_value
	[found.fields[0].field | some found in _searched(["weights"])] == ["/defaults/weights/0"]
}

test_search_needs_all_words if {
	_searched(["accent", "navy"]) == []
	_searched(["weights", "5"])[0].fields == [{"field": "/defaults/weights/1", "value": 5}]
}

test_search_of_a_word_in_names_of_objects_alone_finds_no_field if _searched(["colorpolicy"]) == []

test_search_without_words_finds_nothing if _searched([]) == []

test_search_takes_texts_only if {
	found := v1.search with input as {"words": [""]}
	found.error.code == "InvalidInput"
}
