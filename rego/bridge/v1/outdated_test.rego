package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_change := {"keys": [_slow_key], "was": {}}

test_a_change_has_the_parts_that_are_wanted if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {"scopes": {}, "objects": {}, "guarded": {}}}))
	found.scopes == {"example.com/TimeoutPolicy": _services}
	found.objects == [_slow_key]
	"core/Service/shop/cart" in found.guarded
	not found.picture
}

test_a_change_has_no_part_that_nothing_wants if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {}}))
	found == {}
}

test_a_change_of_no_key_is_invalid if {
	v1.outdated.error.code == "InvalidInput" with input as {"keys": ["x"], "wanted": {"scopes": {}}}
}

test_a_policy_concerns_the_picture_of_its_target if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {"picture": {"drawn": [_slow_key]}}}))
	"core/Service/shop/cart" in found.picture
}

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_paths := [["parents", "gateway.networking.k8s.io/Gateway/infra/public#https", "x"], ["selectors", "shop", "x"], ["own", "x", "y"]]

test_marks_of_a_change_are_its_object_and_the_ends_of_its_former_and_present_links if {
	route := "gateway.networking.k8s.io/HTTPRoute/shop/cart"
	found := v1.outdated with input as {
		"keys": [route],
		"was": {route: [["children", "core/Service/shop/cart", "x"]]},
		"wanted": {"marks": {"now": {route: _paths}}},
	}
	{mark | some mark in found.marks[route]} == {
		route, "gateway.networking.k8s.io/HTTPRoute", "in shop", "core/Service/shop/cart", concat(" ", ["above", _gateway]), "selects shop",
	}
}

test_a_grant_marks_its_namespace if {
	grant := "gateway.networking.k8s.io/ReferenceGrant/shop/all"
	found := v1.outdated with input as {"keys": [grant], "wanted": {"marks": {}}}
	"grants shop" in found.marks[grant]
}

test_routes_above_a_gateway_concern_its_view_and_routes_above_a_backend_do_not if {
	found := v1.view_keys with input as object.union(testing.changed([]), {"roots": [_gateway], "types": ["example.com/TimeoutPolicy"]})
	marks := {mark | some mark in found.marks}
	{_gateway, concat(" ", ["above", _gateway]), "core/Service/shop/cart", "example.com/TimeoutPolicy", "selects shop", "grants shop"} - marks == set()
	not "above core/Service/shop/cart" in marks
	not "in shop" in marks
}

test_any_object_of_a_selected_namespace_concerns_its_view if {
	found := v1.view_keys with input as object.union(testing.changed([]), {
		"roots": [], "types": [],
		"namespaceSelector": json.marshal({"matchLabels": {"kubernetes.io/metadata.name": "shop"}}),
	})
	{"core/Namespace", "in shop", "above core/Service/shop/cart"} - {mark | some mark in found.marks} == set()
}
