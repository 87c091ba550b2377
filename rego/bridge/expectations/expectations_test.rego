package bridge.expectations_test

import data.bridge.expectations
import data.bridge.testing

_path := ["gateway.networking.k8s.io/Gateway/infra/public", "gateway.networking.k8s.io/HTTPRoute/shop/cart"]

_other := ["gateway.networking.k8s.io/Gateway/infra/internal", "gateway.networking.k8s.io/HTTPRoute/shop/cart"]

_red := {"policy": "example.com/ColorPolicy/shop/red", "outcome": "Programmed"}

_blue := {"policy": "example.com/ColorPolicy/shop/blue", "outcome": "Overridden"}

_entry := {
	"path": _path,
	"spec": {"a": {"b": 1, "c": [1, 2]}, "e": {}},
	"origins": {"/a/b": _red.policy, "/a/c": _blue.policy, "/e": _red.policy},
	"policies": [_red, _blue],
}

_unmet(paths, expected) := expectations.unmet([{"target": _path[1], "paths": paths}], expected, "", {})

# What differs, without what says where.
_found(paths, expected) := [object.remove(one, {"target", "path", "policies"}) | some one in _unmet(paths, expected)]

_values(entry, expected) := [[one.pointer, object.get(one, "expected", "-"), object.get(one, "found", "-")] |
	some one in _unmet([entry], expected)
	one.what == "Value"
]

test_spec_is_contained_unless_exact if {
	_values(_entry, {"spec": {"a": {"b": 1}}}) == []
	_values(_entry, {"spec": {"e": {}}}) == []
	_values(_entry, {"spec": {"a": {}}}) == []
	_values(_entry, {"spec": {"a": {"b": 2, "x": 3}}}) == [["/a/b", 2, 1], ["/a/x", 3, "-"]]
	_values(_entry, {"spec": {"a": {"c": [1]}}}) == [["/a/c", [1], [1, 2]]]
	_values(_entry, {"spec": {"a": 1}}) == [["/a", 1, {"b": 1, "c": [1, 2]}]]
	_values(_entry, {"spec": {"a": {"b": {"deep": {"x": 1}}}}}) == [["/a/b", {"deep": {"x": 1}}, 1]]
	_values(_entry, {"spec": {"a": null}}) == [["/a", null, {"b": 1, "c": [1, 2]}]]
	_values(_entry, {"spec": _entry.spec, "exact": true}) == []
	_values(_entry, {"spec": {"a": {"b": 1}}, "exact": true}) == [["/a/c", "-", [1, 2]], ["/e", "-", {}]]
	_values(_entry, {"spec": {"e": {}}, "exact": true}) == [["/a", "-", {"b": 1, "c": [1, 2]}]]
	_values(_entry, {"exact": true}) == [["/a", "-", {"b": 1, "c": [1, 2]}], ["/e", "-", {}]]
	_values({"path": _path, "spec": {"x/y": {"~": 1}}, "origins": {}, "policies": [_red]}, {"spec": {"x/y": {"~": 2}}}) == [["/x~1y/~0", 2, 1]]
}

test_every_path_is_compared if {
	bare := {"path": _other, "policies": []}
	every expected in [{}, {"spec": {"e": {}}}, {"exact": true}, {"origins": {"/e": [_red.policy]}}, {"outcomes": {_red.policy: "Programmed"}}] {
		[[one.what, one.path] | some one in _unmet([_entry, bare], expected)][_] == ["NotInEffect", _other]
	}
	_found([bare], {"none": true}) == []
	_found([bare], {"absent": ["/x"]}) == []
	[one.path | some one in _unmet([_entry, bare], {"none": true})] == [_path]
}

test_nothing_is_expected_where_no_gateway_accepts_the_route if {
	why := {"notAttached": ["Gateway/infra/gone does not exist"]}
	every entry in [_entry, {"path": _other, "policies": []}] {
		every expected in [{}, {"spec": {"e": {}}}, {"none": true}, {"absent": ["/x"]}, {"outcomes": {_red.policy: "Programmed"}}] {
			_found([object.union(entry, why)], expected) == [object.union({"what": "NotAttached"}, why)]
		}
	}
	_found([object.union(_entry, {"incomplete": ["guessed"]})], {"spec": {"e": {}}}) == [{"what": "Unknown", "message": "guessed"}]
}

test_only_paths_through_a_node_are_compared if {
	entries := [{"target": _path[1], "paths": [_entry, {"path": _other, "policies": []}]}]
	expectations.unmet(entries, {"spec": {"e": {}}}, _path[0], {}) == []
	[one.what | some one in expectations.unmet(entries, {"spec": {"e": {}}}, _other[0], {})] == ["NotInEffect"]
	[one.what | some one in expectations.unmet(entries, {}, "gateway.networking.k8s.io/Gateway/infra/pub", {})] == ["NoPath"]
	expectations.unmet(entries, {"none": true}, "gateway.networking.k8s.io/Gateway/infra/pub", {}) == []
	sections := [{"target": _path[1], "paths": [object.union(_entry, {"path": [concat("#", [_path[0], "https"])]})]}]
	expectations.unmet(sections, {}, _path[0], {}) == []
}

test_nothing_in_effect_where_no_path_leads_is_no_answer if {
	every case in [
		["example.com/ColorPolicy", testing.cart_route, "", []],
		["example.com/ColorPolicy", testing.cart_route, testing.listener_http, []],
		["example.com/ColorPolicy", testing.cart_route, "core/Namespace/-/shop", ["NoPath"]],
		["example.com/ColorPolicy", "core/Service/shop/cart", "", ["NoPath"]],
		["example.com/TimeoutPolicy", testing.cart_route, "", ["NoPath"]],
		["example.com/TimeoutPolicy", "core/Service/shop/cart", "", []],
	] {
		[kind, target, via, wanted] := case
		found := expectations.unmet([], {"none": true}, via, {"target": target, "policyKind": kind}) with input as testing.changed([])
		[one.what | some one in found] == wanted
	}
}

test_nothing_in_effect_below_another_controller_is_an_answer if {
	class := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {"controllerName": "example.com/other"})
	kind := testing.policykind(object.union(testing.color_kind, {"controllers": ["example.com/gw"]}))
	others := [obj | some obj in testing.world; not obj.kind in {"GatewayClass", "PolicyKind"}]
	at := {"target": testing.cart_route, "policyKind": "example.com/ColorPolicy"}
	found := expectations.unmet([], {"none": true}, testing.listener_http, at) with input as {"changes": {"upsert": array.concat(others, [class, kind])}}
	found == []
}

test_an_uncertain_answer_meets_no_expectation if {
	every expected in [{}, {"none": true}, {"absent": ["/x"]}, {"spec": {"e": {}}}] {
		_found([object.union(_entry, {"incomplete": ["p: when", "q: when"]})], expected) == [{"what": "Unknown", "message": "p: when; q: when"}]
		_found([{"path": _path, "error": {"code": "X", "message": "too many"}, "policies": [_red]}], expected) == [{"what": "Unknown", "message": "too many"}]
	}
}

test_an_empty_field_that_the_kind_does_not_have_is_unknown if {
	entries := [{"target": _path[1], "policyKind": "example.com/ColorPolicy", "paths": [_entry]}]
	every expected in [{"absent": ["/theem"]}, {"origins": {"/theem": []}}] {
		found := expectations.unmet(entries, expected, "", {}) with input as testing.changed([])
			with data.bridge_settings.fields as {"example.com/ColorPolicy": {"release": "Palette v1", "fields": {"spec": {"theme": null}}}}
		[[one.what, one.message] | some one in found] == [["Unknown", `example.com/ColorPolicy has no field "theem"; did you mean "theme"?`]]
	}
}

test_absent_fields_origins_and_outcomes_are_compared if {
	every expected in [{"absent": ["/a/b/c"]}, {"origins": {"/a/b/c": []}}] {
		_found([_entry], expected) == [{"what": "Unknown", "message": "a.b is 1, which has no fields"}]
	}
	_found([_entry], {"origins": {"/nope": []}}) == []
	[[one.pointer, one.policies] | some one in _unmet([_entry], {"absent": ["/a/b", "/a", "/nope"]})] == [
		["/a/b", [_red.policy]],
		["/a", sort([_red.policy, _blue.policy])],
	]
	_found([_entry], {"origins": {"/a/b": [_red.policy], "/a": [_red.policy, _blue.policy]}}) == []
	_found([_entry], {"origins": {"/a": [_red.policy]}}) == [{"what": "Origin", "pointer": "/a", "expected": [_red.policy], "found": sort([_red.policy, _blue.policy])}]
	_found([_entry], {"origins": {"/nope": [_red.policy]}}) == [{"what": "Origin", "pointer": "/nope", "expected": [_red.policy], "found": []}]
	_found([_entry], {"outcomes": {_red.policy: "Programmed", _blue.policy: "Overridden"}}) == []
	_found([_entry], {"outcomes": {_blue.policy: "Programmed"}}) == [{"what": "Outcome", "policy": _blue.policy, "expected": "Programmed", "found": "Overridden"}]
	_found([_entry], {"outcomes": {"x": "Programmed"}}) == [{"what": "Outcome", "policy": "x", "expected": "Programmed"}]
}

test_where_every_policy_applies_a_mapping_is_about_one_and_a_list_about_all if {
	entry := {"path": _path, "spec": [{"x": 1, "y": 1}, {"x": 2}], "origins": {"/0": _red.policy, "/1": _blue.policy}, "policies": [_red, _blue]}
	_values(entry, {"spec": {"x": 2}}) == []
	_values(entry, {"spec": {"x": 1}}) == []
	_values(entry, {"spec": {"x": 1}, "exact": true}) == [["", {"x": 1}, entry.spec]]
	_values(entry, {"spec": {"x": 3}}) == [["", {"x": 3}, entry.spec]]
	_values(entry, {"spec": [{"x": 1}, {"x": 2}]}) == []
	_values(entry, {"spec": [{"x": 1}, {"x": 3}]}) == [["/1/x", 3, 2]]
	_values(entry, {"spec": [{"x": 1}, {"x": 2}], "exact": true}) == [["/0/y", "-", 1]]
	_values(entry, {"spec": [{"x": 1}]}) == [["", [{"x": 1}], entry.spec]]
	_values(object.union(entry, {"spec": [{"x": 1}]}), {"spec": {"x": 3}}) == [["/x", 3, 1]]
	_values(_entry, {"spec": [{"e": {}}]}) == [["", [{"e": {}}], _entry.spec]]
	[[one.pointer, one.policies] | some one in _unmet([entry], {"absent": ["/x", "/y", "/z"]})] == [
		["/x", sort([_red.policy, _blue.policy])],
		["/y", [_red.policy]],
	]
	_found([entry], {"origins": {"/y": [_red.policy], "/x": [_blue.policy, _red.policy]}}) == []
}
