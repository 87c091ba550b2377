package bridge.index_test

import data.bridge.index
import data.bridge.testing

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
	targeting := index.policies_targeting(testing.cart_route) with data.index as _index
	referrers := index.referrers("shop") with data.index as _index
	[naming, targeting, referrers] == [{_warm_key}, {_warm_key}, {_warm_key}]
}

test_policies_of_a_change_are_found_by_their_target if {
	changes := {"upsert": [_cold], "delete": [_warm_key]}
	naming := index.policies_naming(_kind, testing.cart_pay) with data.index as _index with input as {"changes": changes}
	targeting := index.policies_targeting(testing.cart_route) with data.index as _index with input as {"changes": changes}
	referrers := index.referrers("shop") with data.index as _index with input as {"changes": changes}
	[naming, targeting, referrers] == [{_cold_key}, {_cold_key}, set()]
}

test_frontends_are_found_among_stored_and_changed_links if {
	stored := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [])
	changed := testing.route("other", [{"group": "", "kind": "Service", "name": "catalog"}], [{"backendRefs": [{"name": "cart"}]}])
	found := index.frontends with data.index as testing.stored_index(array.concat(testing.world, [stored])) with input as {"changes": {"upsert": [changed]}}
	found == {"core/Service/shop/cart@frontend", "core/Service/shop/catalog@frontend"}
}
