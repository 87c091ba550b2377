package bridge.index_test

import data.bridge.index
import data.bridge.testing

_gw := "gateway.networking.k8s.io/Gateway/infra/public"

test_a_route_declares_its_parents_and_backends_both_ways if {
	route := testing.route(
		"cart",
		[{"name": "public", "namespace": "infra"}],
		[{"backendRefs": [{"name": "cart"}]}, {"backendRefs": [{"name": "cart"}, {"name": "bank", "namespace": "payments"}]}],
	)
	index.entries(route) == {
		{"path": ["children", _gw], "value": [testing.cart_route]},
		{"path": ["parents", testing.cart_route], "value": [_gw]},
		{"path": ["children", testing.cart_route], "value": ["core/Service/payments/bank", "core/Service/shop/cart"]},
		{"path": ["parents", "core/Service/shop/cart"], "value": [testing.cart_route]},
		{"path": ["parents", "core/Service/payments/bank"], "value": [testing.cart_route]},
		{"path": ["referrers", "infra"], "value": true},
		{"path": ["referrers", "payments"], "value": true},
		{"path": ["served", _gw, "*", "/"], "value": true},
	}
}

test_a_route_that_names_itself_is_at_both_ends_of_one_link if {
	ref := {"kind": "HTTPRoute", "name": "cart"}
	entries := index.entries(testing.route("cart", [ref], [{"backendRefs": [object.union(ref, {"group": "gateway.networking.k8s.io"})]}]))
	{"path": ["children", testing.cart_route], "value": [testing.cart_route]} in entries
	{"path": ["parents", testing.cart_route], "value": [testing.cart_route]} in entries
}

test_a_gateway_declares_its_class if {
	class := "gateway.networking.k8s.io/GatewayClass/-/example"
	index.entries(testing.gateway("public", [])) == {
		{"path": ["children", class], "value": [_gw]},
		{"path": ["parents", _gw], "value": [class]},
	}
}

test_a_policy_declares_its_targets if {
	policy := testing.color("shop", "warm", 1, [testing.section_ref("HTTPRoute", "cart", "pay")], {})
	index.entries(policy) == {
		{"path": ["attached", "example.com/ColorPolicy", testing.cart_pay], "value": true},
		{"path": ["targeted", testing.cart_route], "value": true},
	}
}

test_objects_without_declarations_have_no_links if {
	every obj in [
		testing.resource("v1", "Namespace", "", "shop"),
		testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "cart"),
		testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "cart"), {"rules": null}),
		testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "Gateway", "infra", "public"), null),
		testing.route("cart", [null, {}, {"name": 3}, {"name": "x", "namespace": 3}], [null, {"backendRefs": null}]),
	] {
		index.entries(obj) == set()
	}
}

test_ref_with_a_name_that_cannot_exist_declares_nothing if {
	every odd in [
		{"name": "../infra/gw"}, {"name": "a#b"}, {"name": "a@frontend"}, {"name": ""},
		{"kind": "A/B"}, {"kind": "A#b"}, {"kind": "A@b"}, {"kind": ""},
		{"namespace": "a/b"}, {"namespace": "a#b"}, {"namespace": "a@b"},
		{"group": "a#b"}, {"group": "a@b"}, {"group": "/v1"},
	] {
		ref := object.union({"name": "x", "group": "example.com", "kind": "Thing", "namespace": "infra"}, odd)
		index.entries(testing.route("cart", [ref], [{"backendRefs": [ref]}])) == set()
	}
}

test_ref_with_a_bad_name_leaves_the_other_refs_of_its_route if {
	refs := [{"name": "../infra/gw"}, {"name": "public", "namespace": "infra"}]
	route := testing.route("cart", refs, [{"backendRefs": [{"name": "../infra/gw"}, {"name": "cart"}]}])
	index.entries(route) == {
		{"path": ["children", _gw], "value": [testing.cart_route]},
		{"path": ["parents", testing.cart_route], "value": [_gw]},
		{"path": ["children", testing.cart_route], "value": ["core/Service/shop/cart"]},
		{"path": ["parents", "core/Service/shop/cart"], "value": [testing.cart_route]},
		{"path": ["referrers", "infra"], "value": true},
		{"path": ["served", _gw, "*", "/"], "value": true},
	}
}

test_gateway_with_a_bad_class_name_declares_nothing if {
	every odd in ["../x", "a#b", "a@b", ""] {
		index.entries(testing.with_spec(testing.gateway("public", []), {"gatewayClassName": odd})) == set()
	}
}

test_links_name_each_declared_object_once if {
	route := testing.route(
		"cart",
		[{"name": "public", "namespace": "infra"}],
		[{"backendRefs": [{"name": "cart"}, {"group": "acme.io", "kind": "Bucket", "name": "files"}]}],
	)
	object.remove(index.links(route), ["facts"]) == {
		"above": {_gw},
		"below": {"acme.io/Bucket/shop/files", "core/Service/shop/cart"},
		"served": {"hostnames": {"*"}, "paths": {"/"}},
		"members": {"acme.io/Bucket/shop/files"},
	}
}

test_links_of_a_route_without_backends_have_no_field_for_them if {
	object.remove(index.links(testing.route("cart", [{"name": "public", "namespace": "infra"}], [])), ["facts"]) == {
		"above": {_gw},
		"served": {"hostnames": {"*"}, "paths": {"*"}},
	}
}

test_links_of_a_policy_are_its_targets_and_selectors if {
	limited := object.union(testing.section_ref("HTTPRoute", "cart", "pay"), {"className": "example"})
	selector := {"group": "", "kind": "Service", "matchLabels": {"app": "cart"}}
	policy := testing.color("shop", "warm", 1, [limited], {"targetSelectors": [selector]})
	index.links(policy) == {
		"targets": {testing.cart_pay},
		"classes": true,
		"selectors": {["shop", "core/Service", `{"matchExpressions":[],"matchLabels":{"app":"cart"}}`]},
	}
}

_kind := "example.com/ColorPolicy"

_warm_key := "example.com/ColorPolicy/blog/warm"

_cold_key := "example.com/ColorPolicy/shop/cold"

_at_route := {
	"group": "gateway.networking.k8s.io",
	"kind": "HTTPRoute",
	"namespace": "shop",
	"name": "cart",
	"sectionName": "pay",
}

_warm := testing.color("blog", "warm", 1, [_at_route], {})

_cold := testing.color("shop", "cold", 1, [_at_route], {})

_index := testing.stored_index(array.concat(testing.world, [_warm]))

test_links_are_found_from_both_ends if {
	children := index.declared_children(testing.cart_route) with data.index as _index
	parents := index.declared_parents(testing.cart_route) with data.index as _index
	children == {"core/Service/shop/cart"}
	parents == {"gateway.networking.k8s.io/Gateway/infra/public"}
}

test_a_changed_objects_links_replace_its_stored_ones if {
	moved := testing.route("cart", [], [{"backendRefs": [{"name": "catalog"}]}])
	input_document := {"changes": {"upsert": [moved]}}
	children := index.declared_children(testing.cart_route) with data.index as _index with input as input_document
	parents := index.declared_parents("core/Service/shop/catalog") with data.index as _index with input as input_document
	before := index.declared_parents("core/Service/shop/cart") with data.index as _index with input as input_document
	children == {"core/Service/shop/catalog"}
	parents == {testing.cart_route}
	before == set()
}

test_policies_are_found_by_their_target if {
	naming := index.policies_naming(_kind, testing.cart_pay) with data.index as _index
	targeting := index.policies_at("targeted", testing.cart_route) with data.index as _index
	referrers := index.referrers("shop") with data.index as _index
	[naming, targeting, referrers] == [{_warm_key}, {_warm_key}, {_warm_key}]
}

test_policies_of_a_change_are_found_by_their_target if {
	changes := {"upsert": [_cold], "delete": [_warm_key]}
	naming := index.policies_naming(_kind, testing.cart_pay) with data.index as _index with input as {"changes": changes}
	targeting := index.policies_at("targeted", testing.cart_route) with data.index as _index with input as {"changes": changes}
	referrers := index.referrers("shop") with data.index as _index with input as {"changes": changes}
	[naming, targeting, referrers] == [{_cold_key}, {_cold_key}, set()]
}

test_frontends_are_found_among_stored_and_changed_links if {
	stored := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [])
	changed := testing.route("other", [{"group": "", "kind": "Service", "name": "catalog"}], [{"backendRefs": [{"name": "cart"}]}])
	found := index.frontends with data.index as testing.stored_index(array.concat(testing.world, [stored])) with input as {"changes": {"upsert": [changed]}}
	found == {"core/Service/shop/cart@frontend", "core/Service/shop/catalog@frontend"}
}
