package bridge.scopes_test

import data.bridge.hierarchy
import data.bridge.scopes
import data.bridge.testing

test_a_kind_acts_at_its_level_or_where_it_is_direct_at_targets if {
	acting := [[kind, node] |
		some kind in ["example.com/ColorPolicy", "example.com/TimeoutPolicy"]
		some node in [testing.cart_route, testing.cart_pay, "core/Service/shop/cart", "core/Service/shop/cart#http"]
		scopes.acts_at(kind, node) with input as testing.changed([])
	]
	acting == [
		["example.com/ColorPolicy", testing.cart_pay],
		["example.com/TimeoutPolicy", "core/Service/shop/cart"],
		["example.com/TimeoutPolicy", "core/Service/shop/cart#http"],
	]
}

_bucket := "acme.io/Bucket/shop/files"

_files := testing.resource("acme.io/v1", "Bucket", "shop", "files")

_bucket_kind := _backend_kind({"targets": [
	{"group": "", "kind": "Namespace"},
	{"group": "acme.io", "kind": "Bucket"},
]})

# P2, P5
test_a_backend_of_a_kind_that_is_named_as_a_target_needs_no_rule_that_names_it if {
	_scopes("example.com/PoolPolicy", [_bucket, "core/Namespace/-/shop"], [_files, _bucket_kind]) == [{_bucket}, {_bucket}]
	_scopes("example.com/PoolPolicy", [_bucket, "core/Namespace/-/shop"], [_bucket_kind]) == [set(), set()]
	_scopes("example.com/PoolPolicy", [_bucket], [_files, _backend_kind({})]) == [set()]
	paths := hierarchy.kind_paths("example.com/PoolPolicy", _bucket) with input as testing.changed([_files, _bucket_kind])
	paths == {["core/Namespace/-/shop", _bucket]}
}

# P5
test_a_kind_of_another_group_is_another_kind if {
	far := testing.resource("acme.dev/v1", "Bucket", "shop", "files")
	route := testing.route("cart2", [], [{"backendRefs": [{"group": "acme.dev", "kind": "Bucket", "name": "files"}]}])
	_scopes("example.com/PoolPolicy", ["acme.dev/Bucket/shop/files"], [far, route, _bucket_kind]) == [set()]
	_scopes("example.com/PoolPolicy", ["acme.dev/Bucket/shop/files"], [far, route, _backend_kind({})]) == [{"acme.dev/Bucket/shop/files"}]
}
