package bridge.merge_test

import data.bridge.merge

_rules := merge.rules({
	"units": ["/limits/*"],
	"listKeys": {"/rules": "id", "/rules/*/to": "name"},
})

_keyed(name, spec) := merge.keyed_side(spec, name, _rules)

_merged(sides) := merge.plain_side(side, side.spec) if {
	side := merge.merge_sides(sides)
}

_defaults(established, challenger) := _merged([_keyed("e", established), _keyed("c", challenger)])

_overrides(established, challenger) := _merged([_keyed("c", challenger), _keyed("e", established)])

# F8
test_a_unit_is_taken_whole_from_one if {
	_defaults({"limits": {"a": {"n": 1, "per": "s"}, "b": 1}}, {"limits": {"a": {"n": 2}}}) == {
		"spec": {"limits": {"a": {"n": 2}, "b": 1}},
		"origins": {"/limits/a": "c", "/limits/b": "e"},
	}
	_defaults({"limits": {"a": [1], "b": [2]}}, {"limits": {"a": {}}}) == {
		"spec": {"limits": {"a": {}, "b": [2]}},
		"origins": {"/limits/a": "c", "/limits/b": "e"},
	}
}

# O3
test_an_empty_patch_leaves_an_empty_spec_to_its_owner_by_rules_too if {
	_defaults({}, {}) == {"spec": {}, "origins": {"": "e"}}
	_overrides({}, {}) == {"spec": {}, "origins": {"": "c"}}
}

# F8, RFC 7386 "units": what a null takes away, it takes away whole.
test_a_null_takes_a_unit_away if {
	_defaults({"limits": {"a": {"n": 1}}}, {"limits": {"a": null}}) == {
		"spec": {"limits": {"a": null}},
		"origins": {"/limits/a": "c"},
	}
}

_high := {"rules": [{"id": "x", "rate": 1}, {"id": "y", "rate": 1, "burst": 1}]}

_low := {"rules": [{"id": "z", "rate": 2}, {"id": "y", "rate": 2}]}

# F8
test_a_list_merged_by_key_has_the_winners_items_first_and_merges_those_of_one_key if {
	_defaults(_high, _low) == {
		"spec": {"rules": [{"id": "z", "rate": 2}, {"id": "y", "rate": 2, "burst": 1}, {"id": "x", "rate": 1}]},
		"origins": {
			"/rules/0/id": "c", "/rules/0/rate": "c",
			"/rules/1/id": "c", "/rules/1/rate": "c", "/rules/1/burst": "e",
			"/rules/2/id": "e", "/rules/2/rate": "e",
		},
	}
	_overrides(_high, _low).spec == {"rules": [{"id": "x", "rate": 1}, {"id": "y", "rate": 1, "burst": 1}, {"id": "z", "rate": 2}]}
}

# F8
test_lists_in_keyed_items_are_merged_too if {
	_defaults(
		{"rules": [{"id": 1, "to": [{"name": "a", "w": 1}]}]},
		{"rules": [{"id": 1, "to": [{"name": "b", "w": 2}, {"name": "a", "w": 3}]}]},
	) == {
		"spec": {"rules": [{"id": 1, "to": [{"name": "b", "w": 2}, {"name": "a", "w": 3}]}]},
		"origins": {
			"/rules/0/id": "c",
			"/rules/0/to/0/name": "c", "/rules/0/to/0/w": "c",
			"/rules/0/to/1/name": "c", "/rules/0/to/1/w": "c",
		},
	}
}

# F8
# F8: a policy at two places of a path (P4).
# F8
test_a_list_that_cannot_be_merged_by_key_is_a_leaf if {
	every list in [[{"rate": 1}], [{"id": "x"}, {"id": "x"}], ["x"], [null], [{"id": null}], [{"id": ["x"]}], "x", 3] {
		_defaults(_high, {"rules": list}) == {"spec": {"rules": list}, "origins": {"/rules": "c"}}
		_defaults({"rules": list}, _low).spec == _low
	}
}

# F8, RFC 7386: a patch that is an object replaces what is none.
test_an_object_replaces_a_list_and_a_list_an_object if {
	every pair in [[_high.rules, {"y": 1}], [{"y": 1}, _low.rules], [_high.rules, {}]] {
		_defaults({"rules": pair[0], "x": 1}, {"rules": pair[1]}).spec == {"rules": pair[1], "x": 1}
	}
}

test_a_list_without_items_takes_none_away if {
	_defaults(_high, {"rules": []}).spec == _high
	_defaults({"rules": []}, {"x": 1}) == {"spec": {"rules": [], "x": 1}, "origins": {"/rules": "e", "/x": "c"}}
}

# F7, F8: what was merged by other rules.
test_keyed_lists_become_the_same_lists_again if {
	every spec in [
		{},
		_high,
		{"rules": [{"id": true, "to": [{"name": 1.5}, {"name": "1.5"}], "log": [[], {}]}]},
		{"rules": [], "audit": [1, null, {"a": null}], "limits": {"x/~": {"a": {}}, "y": [1], "z": 1}},
		{"a": {"rules": [{"id": 1}]}, "rules": {"id": {"to": [{"name": 1}]}}},
	] {
		side := _keyed("p", spec)
		merge.plain_side(side, side.spec).spec == spec
	}
}

test_a_spec_of_1000_leaves_and_30_levels_merges_by_rules_too if {
	deep := json.unmarshal(sprintf("%s1%s", [
		concat("", [`{"d":` | some _ in numbers.range(1, 30)]),
		concat("", ["}" | some _ in numbers.range(1, 30)]),
	]))
	wide := {sprintf("k%d", [n]): {"v": n} | some n in numbers.range(1, 500)}
	rules := [{"id": n, "rate": n} | some n in numbers.range(1, 250)]
	merged := _defaults({"deep": deep, "wide": wide}, {"rules": rules})
	merged.spec == {"deep": deep, "wide": wide, "rules": rules}
	count(merged.origins) == 1001
}

# F3, F8
test_items_that_a_null_removed_stay_removed if {
	sides := [
		_keyed("a", {"rules": [{"id": 1}]}),
		_keyed("b", {"rules": null}),
		_keyed("c", {"rules": [{"id": 2}]}),
	]
	_merged(sides) == {"spec": {"rules": [{"id": 2}]}, "origins": {"/rules/0/id": "c"}}
}

# F8: appended items go by rank, whatever the precedence.
# RFC 7386: only the items above a value of another type remain.
test_items_below_an_object_or_a_leaf_are_replaced if {
	every between in [{"x": 1}, {}, 1, ["x"]] {
		_merged([_keyed("a", {"rules": [{"id": 1}]}), _keyed("b", {"rules": between}), _keyed("c", {"rules": [{"id": 2}]})]) == {
			"spec": {"rules": [{"id": 2}]},
			"origins": {"/rules/0/id": "c"},
		}
	}
}

# F8
test_items_of_three_are_in_order_of_precedence if {
	sides := [_keyed(name, {"rules": [{"id": id} | some id in ids]}) | some [name, ids] in [["a", [1, 2, 3]], ["b", [2, 4]], ["c", [5, 1]]]]
	[item.id | some item in _merged(sides).spec.rules] == [5, 1, 2, 4, 3]
}

# RFC 6901
test_rules_apply_below_empty_and_odd_keys if {
	odd := merge.rules({"listKeys": {"/*/a": "n", "/~1 ~0/log": "n"}})
	sides := [
		merge.keyed_side({"": {"a": [{"n": 1, "": 1}]}, "/ ~": {"log": [{"n": "~/"}]}}, "e", odd),
		merge.keyed_side({"": {"a": [{"n": 1, "x/y": 2}]}, "/ ~": {"log": [{"n": ""}]}}, "c", odd),
	]
	_merged(sides) == {
		"spec": {"": {"a": [{"n": 1, "": 1, "x/y": 2}]}, "/ ~": {"log": [{"n": ""}, {"n": "~/"}]}},
		"origins": {
			"//a/0/n": "c", "//a/0/": "e", "//a/0/x~1y": "c",
			"/~1 ~0/log/0/n": "c", "/~1 ~0/log/1/n": "e",
		},
	}
}

_filled := merge.rules({"emptyLists": "Absent", "listKeys": {"/kept": "name"}})

_merged_filled(established, challenger) := merge.plain_side(side, side.spec) if {
	side := merge.merge_sides([merge.keyed_side(established, "e", _filled), merge.keyed_side(challenger, "c", _filled)])
}

test_an_empty_list_replaces_nothing_where_it_counts_as_absent if {
	found := _merged_filled({"a": {"b": [1]}, "d": [2]}, {"a": {"b": [], "x": 1}, "d": [3], "kept": []})
	found == {"spec": {"a": {"b": [1], "x": 1}, "d": [3]}, "origins": {"/a/b": "e", "/a/x": "c", "/d": "c"}}
}

test_an_empty_list_inside_of_an_item_stays if {
	found := _merged_filled({"a": [1]}, {"a": [{"b": []}]})
	found.spec == {"a": [{"b": []}]}
}

test_an_empty_list_is_a_value_by_default if {
	rules := merge.rules({"units": ["/u"]})
	side := merge.merge_sides([merge.keyed_side({"a": [1]}, "e", rules), merge.keyed_side({"a": []}, "c", rules)])
	side.spec == {"a": []}
}
