package bridge.effective_values_test

import data.bridge.effective

_wide := "example.com/ColorPolicy/infra/wide"

_near := "example.com/ColorPolicy/shop/near"

# The fields of `limits` are units, `rules` is merged by `id`, and the wide policy's `gone` was removed.
_merged := {
	"spec": {
		"theme": "dark",
		"off": {},
		"colors": {"accent": "blue", "text": "white"},
		"limits": {"all": {"rates": [{"limit": 5, "window": "1m"}, {"limit": 50}], "counters": ["user"], "none": null}},
		"rules": [{"id": "first", "for": {"seconds": 3}}, {"id": "second", "for": {"seconds": 9}}],
		"ports": [{"name": "web", "port": 80}, {"name": "tls", "port": 443}],
		"a/b": {"*": 1},
	},
	"origins": {
		"/theme": _near,
		"/off": _near,
		"/gone": _near,
		"/colors/accent": _wide,
		"/colors/text": _near,
		"/limits/all": _wide,
		"/rules/0/id": _near,
		"/rules/0/for/seconds": _near,
		"/rules/1/id": _wide,
		"/rules/1/for/seconds": [_near, _wide],
		"/ports": _wide,
		"/a~1b/*": _wide,
	},
}

_kinds := {"example.com/ColorPolicy": {"rules": [
	{"segments": ["limits", "*"], "how": "unit", "field": ""},
	{"segments": ["rules"], "how": "key", "field": "id"},
]}}

_listed := {
	"spec": [{"action": "DENY", "rules": [{"from": "a"}]}, {}, {"action": "ALLOW", "off": null}],
	"origins": {"/0": _wide, "/1": _wide, "/2": _near},
}

_at(field) := [[found.path, found.value, found.policies] | some found in values] if {
	values := effective.values_at(_merged, field) with data.kinds as _kinds
}

_obstacle(field) := text if {
	text := effective.obstacle(_merged, field) with data.kinds as _kinds
}

test_a_field_has_its_value_and_its_policies if {
	_at("/theme") == [["/theme", "dark", [_near]]]
	_at("/off") == [["/off", {}, [_near]]]
	_at("/colors") == [["/colors", {"accent": "blue", "text": "white"}, [_wide, _near]]]
	_at("/a~1b/*") == [["/a~1b/*", 1, [_wide]]]
	_at("theme") == _at("/theme")
	_at("") == [["", _merged.spec, [_wide, _near]]]
}

test_a_field_without_a_value_has_none if {
	every field in ["/gone", "/other", "/colors/other", "/off/deep", "/limits/all/none", "/theme/x", "/rules/2", "/rules/third", "/*/nothing"] {
		_at(field) == []
	}
	effective.values_at({}, "") == []
	effective.values_at({"unknown": "too many", "policies": [_wide]}, "/theme") == []
	effective.values_at({"spec": {}, "origins": {"": _wide}}, "") == [{"path": "", "name": "", "value": {}, "policies": [_wide]}]
}

test_a_field_of_a_unit_is_its_policys if {
	_at("/limits/all/counters") == [["/limits/all/counters", ["user"], [_wide]]]
	_at("/limits/*/rates/0/window") == [["/limits/all/rates/0/window", "1m", [_wide]]]
}

test_items_of_lists_have_places_and_keys if {
	_at("/rules/1/for/seconds") == [["/rules/1/for/seconds", 9, [_wide, _near]]]
	_at("/rules/second/for/seconds") == _at("/rules/1/for/seconds")
	[value | some [_, value, _] in _at("/rules/*/for/seconds")] == [3, 9]
	[value | some [_, value, _] in _at("/limits/all/rates/*/limit")] == [5, 50]
	_at("/ports/tls/port") == [["/ports/1/port", 443, [_wide]]]
	names := {field: [one.name | some one in values] |
		some field in ["/rules/*/for/seconds", "/rules/1/for/seconds", "/rules/second/for/seconds", "/limits/all/rates/*/limit"]
		values := effective.values_at(_merged, field) with data.kinds as _kinds
	}
	names == {
		"/rules/*/for/seconds": ["/rules/first/for/seconds", "/rules/second/for/seconds"],
		"/rules/1/for/seconds": ["/rules/1/for/seconds"],
		"/rules/second/for/seconds": ["/rules/second/for/seconds"],
		"/limits/all/rates/*/limit": ["/limits/all/rates/0/limit", "/limits/all/rates/1/limit"],
	}
}

test_every_policy_has_its_own_values_where_all_apply if {
	effective.values_at(_listed, "/action") == [
		{"path": "/action", "name": "/action", "value": "DENY", "policies": [_wide]},
		{"path": "/action", "name": "/action", "value": "ALLOW", "policies": [_near]},
	]
	effective.values_at(_listed, "/off") == []
	effective.values_at(_listed, "/rules/*/from") == [{"path": "/rules/0/from", "name": "/rules/0/from", "value": "a", "policies": [_wide]}]
}

test_fields_for_people_are_the_units_of_the_merge if {
	found := effective.fields(_merged)
	[one.field | some one in found] == [
		"/a~1b/*", "/colors/accent", "/colors/text", "/gone", "/limits/all", "/off", "/ports",
		"/rules/0/for/seconds", "/rules/0/id", "/rules/1/for/seconds", "/rules/1/id", "/theme",
	]
	by_field := {one.field: object.remove(one, ["field"]) | some one in found}
	by_field["/a~1b/*"] == {"value": 1, "policies": [_wide]}
	by_field["/gone"] == {"policies": [_near]}
	by_field["/limits/all"] == {"value": _merged.spec.limits.all, "policies": [_wide]}
	by_field["/rules/1/for/seconds"] == {"value": 9, "policies": [_wide, _near]}
}

test_items_of_lists_are_in_the_order_of_their_places_for_people if {
	items := [{"id": number} | some number in numbers.range(0, 11)]
	effect := {"spec": {"rules": items}, "origins": {sprintf("/rules/%d/id", [number]): _wide | some number, _ in items}}
	[one.value | some one in effective.fields(effect)] == numbers.range(0, 11)
}

test_fields_for_people_of_policies_that_all_apply_are_their_specs if {
	effective.fields(_listed) == [
		{"field": "/0", "value": _listed.spec[0], "policies": [_wide]},
		{"field": "/1", "value": {}, "policies": [_wide]},
		{"field": "/2", "value": _listed.spec[2], "policies": [_near]},
	]
	effective.fields({"spec": {}, "origins": {"": _wide}}) == [{"field": "", "value": {}, "policies": [_wide]}]
}

test_a_scalar_or_a_list_without_such_an_item_is_an_obstacle if {
	_obstacle("/theme/x") == `theme is "dark", which has no fields`
	_obstacle("/colors/accent/x") == `colors.accent is "blue", which has no fields`
	_obstacle("/limits/all/rates/first/limit") == `limits.all.rates is a list, and "first" is not the place of an item`
	_obstacle("/ports/") == `ports is a list, and "" is not the place of an item`
	effective.obstacle(_listed, "/action/x") == `action is "ALLOW", which has no fields`
	every field in ["", "/theme", "/other/deep", "/gone/x", "/off/x", "/limits/all/none/x", "/rules/third/x", "/ports/other", "/limits/all/rates/9/limit"] {
		not _obstacle(field)
	}
}

test_leaves_are_the_values_below_a_field_that_have_no_fields if {
	leaves := effective.leaves_at(_merged, "") with data.kinds as _kinds
	{found.path: found.policies | some found in leaves} == {
		"/theme": [_near],
		"/off": [_near],
		"/colors/accent": [_wide],
		"/colors/text": [_near],
		"/limits/all/rates": [_wide],
		"/limits/all/counters": [_wide],
		"/rules/first/id": [_near],
		"/rules/first/for/seconds": [_near],
		"/rules/second/id": [_wide],
		"/rules/second/for/seconds": [_wide, _near],
		"/ports": [_wide],
		"/a~1b/*": [_wide],
	}
	inside := effective.leaves_at(_merged, "/rules/second/for") with data.kinds as _kinds
	[found.path | some found in inside] == ["/rules/second/for/seconds"]
	effective.leaves_at(_merged, "/gone") == []
	[[found.path, found.policies] | some found in effective.leaves_at(_listed, "/action")] == [["/action", [_wide]], ["/action", [_near]]]
}
