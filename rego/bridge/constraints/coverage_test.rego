package bridge.coverage_test

import data.bridge.constraints
import data.bridge.testing
import data.bridge.v1

_colors := "example.com/ColorPolicy"

_listener := testing.color("infra", "dark", 1, [testing.section_ref("Gateway", "public", "http")], {"theme": "dark"})

_uncovered(more, field) := {[entry.target, path.path[2]] | some entry in found; some path in entry.paths} if {
	query := {"policyKind": _colors, "changes": {"upsert": array.concat(testing.world, more)}}
	targets := v1.coverable with input as query
	found := v1.uncovered with input as object.union(query, {"targets": targets, "field": field})
}

test_every_path_without_a_policy_is_listed if {
	rules := {testing.cart_pay, concat("", [testing.cart_route, "#[1]"])}
	_uncovered([], "") == {[rule, testing.listener_http] | some rule in rules}
	of_pay := testing.color("shop", "pay", 1, [testing.section_ref("HTTPRoute", "cart", "pay")], {"theme": "dark"})
	_uncovered([of_pay], "") == {[concat("", [testing.cart_route, "#[1]"]), testing.listener_http]}
}

test_a_field_that_no_policy_sets_is_not_covered if {
	_uncovered([_listener], "/theme") == _uncovered([_listener], "")
	_uncovered([_listener], "/text") == _uncovered([], "")
}

test_targets_that_cannot_be_computed_are_unknown if {
	effects := [{"path": testing.cart_pay_path, "error": {"code": "BoundExceeded", "message": "too many"}, "policies": []}]
	found := constraints.uncovered_paths(_colors, "", testing.cart_pay, "") with input as testing.changed([])
		with data.bridge.effective.policies_of as effects
	{"path": testing.cart_pay_path, "exemptions": [], "unknown": "too many"} in found
}

test_paths_below_a_route_that_nothing_accepts_say_so if {
	away := testing.route("away", [{"name": "gone", "namespace": "infra"}], [{"name": "all"}])
	node := "gateway.networking.k8s.io/HTTPRoute/shop/away#all"
	[path] := constraints.uncovered_paths(_colors, "", node, "") with input as testing.changed([away])
	path.notAttached == ["Gateway/infra/gone does not exist"]
	others := constraints.uncovered_paths(_colors, "", testing.cart_pay, "") with input as testing.changed([away])
	[other | some other in others; other.notAttached] == []
}

test_targets_of_one_namespace if {
	found := v1.coverable with input as object.union(testing.changed([]), {"policyKind": _colors, "namespace": "nowhere"})
	found == []
}

test_a_field_that_the_kind_does_not_have_is_an_error if {
	query := object.union(testing.changed([]), {"policyKind": _colors, "field": "/theem"})
	found := v1.coverable with input as query
		with data.bridge_settings.fields as {_colors: {"release": "Palette v1", "fields": {"spec": {"theme": null}}}}
	found.error == {"code": "UnknownField", "message": `example.com/ColorPolicy has no field "theem"; did you mean "theme"?`}
}

test_bad_input_is_an_error if {
	v1.coverable.error.code == "InvalidInput" with input as {}
	v1.uncovered.error.code == "InvalidInput" with input as object.union(testing.changed([]), {"policyKind": _colors})
}

# A world whose class has another controller than the kind's.
_served_by_another(fields) := {"changes": {"upsert": array.concat(others, [
	testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {"controllerName": "acme.io/proxy"}),
	testing.policykind(object.union(object.remove(testing.color_kind, ["specPaths", "strategies"]), object.union({"controllers": ["example.com/gw"]}, fields))),
	testing.color("infra", "all", 1, [testing.ref("Gateway", "public")], {"theme": "dark"}),
])}} if {
	others := [obj | some obj in testing.world; not obj.kind in {"GatewayClass", "PolicyKind"}]
}

test_paths_that_another_controller_serves_are_listed_with_it if {
	query := object.union(_served_by_another({}), {"policyKind": _colors})
	targets := v1.coverable with input as query
	testing.cart_pay in targets
	[found] := v1.uncovered with input as object.union(query, {"targets": [testing.cart_pay]})
	found.paths == [{"path": testing.cart_pay_path, "exemptions": [], "otherController": "acme.io/proxy"}]
}

test_the_target_of_a_direct_kind_below_another_controller_alone_is_listed_with_it if {
	direct := _served_by_another({"class": "Direct", "effectiveTarget": "Target"})
	[found] := v1.uncovered with input as object.union(direct, {"policyKind": _colors, "targets": [testing.cart_pay]})
	found.paths == [{"path": [testing.cart_route, testing.cart_pay], "exemptions": [], "otherController": "acme.io/proxy"}]
}
