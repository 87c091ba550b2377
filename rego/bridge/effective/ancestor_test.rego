package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

_ancestor(fields) := found if {
	kinds := {"example.com/ColorPolicy": object.union({"statusShape": "Ancestors", "ancestorLevel": "Gateway"}, fields)}
	found := effective.ancestor("example.com/ColorPolicy", testing.cart_pay_path, testing.cart_pay) with data.kinds as kinds
}

# S3
test_the_ancestor_is_the_paths_node_at_its_level_or_the_target if {
	ancestors := [_ancestor(fields) |
		some fields in [{}, {"ancestorLevel": "Route"}, {"ancestorLevel": "Port"}, {"ancestorLevel": "Target"}, {"statusShape": "Conditions"}]
	]
	ancestors == [
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.cart_route,
		testing.cart_pay,
		testing.cart_pay,
		"",
	]
}

# S1
test_a_scope_is_named_by_the_nodes_that_say_something if {
	names := [name |
		some path in [
			testing.cart_pay_path,
			array.slice(testing.cart_pay_path, 0, 4),
			array.concat(["core/Namespace/-/shop"], [testing.cart_route]),
			[testing.cart_route, testing.cart_pay],
			array.concat(testing.cart_pay_path, ["core/Service/shop/cart", "core/Service/shop/cart#http"]),
		]
		name := effective.scope_name(path)
	]
	names == [
		"Gateway infra/public#http > HTTPRoute shop/cart#pay",
		"Gateway infra/public#http > HTTPRoute shop/cart",
		"HTTPRoute shop/cart",
		"HTTPRoute shop/cart#pay",
		"Gateway infra/public#http > HTTPRoute shop/cart#pay > Service shop/cart#http",
	]
}
