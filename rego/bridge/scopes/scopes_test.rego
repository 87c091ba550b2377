package bridge.scopes_test

import data.bridge.hierarchy
import data.bridge.scopes
import data.bridge.testing

_key(name) := sprintf("example.com/ColorPolicy/shop/%s", [name])

_rule_one := "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"

_scopes(kind, nodes, objects) := [found |
	some node in nodes
	found := scopes.scopes_at_or_below(kind, node) with input as testing.changed(objects)
]

test_an_inherited_kinds_scopes_lie_at_its_level_at_or_below_a_node if {
	both := {testing.cart_pay, _rule_one}
	_scopes(
		"example.com/ColorPolicy", array.concat(testing.cart_pay_path, [
			"gateway.networking.k8s.io/Gateway/infra/public#alt",
			"core/Service/shop/cart",
			"core/Namespace/-/shop",
			"gateway.networking.k8s.io/HTTPRoute/shop/gone",
		]),
		[],
	) == [both, both, both, both, {testing.cart_pay}, set(), set(), both, set()]
}

# C2
test_a_direct_kinds_scopes_are_its_target_and_the_sections_of_that if {
	_scopes(
		"example.com/TimeoutPolicy", [
			"core/Service/shop/cart",
			"core/Service/shop/cart#http",
			"core/Service/shop/gone",
		],
		[],
	) == [
		{"core/Service/shop/cart", "core/Service/shop/cart#http", "core/Service/shop/cart#admin"},
		{"core/Service/shop/cart#http"},
		set(),
	]
}

# C2: refs that name no sections
test_a_direct_kind_without_sections_acts_at_whole_objects if {
	kind := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "class": "Direct", "targets": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]})
	_scopes("example.com/PoolPolicy", [testing.cart_route, _rule_one], [kind]) == [{testing.cart_route}, set()]
}

_backend_kind(fields) := testing.policykind(object.union(
	{"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend"},
	fields,
))

# P2
test_a_backend_that_does_not_exist_is_no_effective_target if {
	route := testing.route("cart2", [], [{"backendRefs": [{"name": "gone"}, {"name": "cart"}]}])
	_scopes("example.com/PoolPolicy", ["gateway.networking.k8s.io/HTTPRoute/shop/cart2"], [route, _backend_kind({})]) == [{"core/Service/shop/cart"}]
}

# P5
test_only_effective_kinds_count_at_the_effective_level if {
	_scopes("example.com/PoolPolicy", [testing.cart_route], [_backend_kind({"targets": [{"group": "acme.io", "kind": "Bucket"}]})]) == [set()]
}

# C1
test_a_policy_reaches_the_scopes_below_its_accepted_refs if {
	policy := testing.color("shop", "warm", 1, [testing.section_ref("HTTPRoute", "cart", "pay"), testing.ref("HTTPRoute", "gone")], {})
	reached := scopes.reachable_scopes(_key("warm")) with input as testing.changed([policy])
	reached == {testing.cart_pay}
}

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

# A whole Service is not counted beside its ports, and one without ports is.
test_an_object_is_not_counted_beside_its_sections if {
	whole := "core/Service/shop/cart"
	ports := [sprintf("%s#%s", [whole, name]) | some name in ["http", "admin"]]
	plain := testing.with_spec(testing.resource("v1", "Service", "shop", "plain"), {})
	counted := scopes.without_whole_objects("example.com/TimeoutPolicy", array.concat([whole, "core/Service/shop/plain"], ports)) with input as testing.changed([plain])
	counted == array.concat(["core/Service/shop/plain"], ports)
}
