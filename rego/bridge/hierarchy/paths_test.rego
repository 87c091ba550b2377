package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

# P1
test_a_path_runs_from_the_class_to_the_rule if {
	paths := hierarchy.paths(testing.cart_pay, false) with input as testing.changed([])
	paths == {testing.cart_pay_path}
}

# P1
test_two_refs_to_one_listener_make_one_path if {
	twice := testing.route(
		"twice", [
			{"name": "public", "namespace": "infra", "sectionName": "http"},
			{"name": "public", "namespace": "infra", "port": 80},
		],
		[],
	)
	key := "gateway.networking.k8s.io/HTTPRoute/shop/twice"
	paths := hierarchy.paths(key, false) with input as testing.changed([twice])
	paths == {array.concat(array.slice(testing.cart_pay_path, 0, 3), [key])}
}

test_each_listener_makes_a_path if {
	both := testing.route("both", [{"name": "public", "namespace": "infra"}], [])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/both"
	paths := hierarchy.paths(key, false) with input as testing.changed([both])
	above := array.slice(testing.cart_pay_path, 0, 2)
	paths == {
		array.concat(above, ["gateway.networking.k8s.io/Gateway/infra/public#http", key]),
		array.concat(above, ["gateway.networking.k8s.io/Gateway/infra/public#alt", key]),
	}
}

# P2
test_a_route_without_a_gateway_is_the_start_of_its_path if {
	alone := testing.route("cart", [{"name": "gone"}], [{"name": "pay"}])
	paths := hierarchy.paths(testing.cart_pay, false) with input as {"changes": {"upsert": [alone]}}
	paths == {[testing.cart_route, testing.cart_pay]}
}

# P3
test_a_namespace_stands_directly_above_each_object_that_it_holds if {
	service := "core/Service/shop/cart"
	route := testing.route("cart", [{"name": "public", "namespace": "infra", "port": 80}], [{"name": "pay", "backendRefs": [{"name": "cart"}]}])
	others := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	paths := hierarchy.paths(service, true) with input as {"changes": {"upsert": array.concat(others, [route])}}
	paths == {[
		"gateway.networking.k8s.io/GatewayClass/-/example",
		"core/Namespace/-/infra",
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.listener_http,
		"core/Namespace/-/shop",
		testing.cart_route,
		testing.cart_pay,
		"core/Namespace/-/shop",
		"core/Service/shop/cart",
	]}
}

# P2
test_a_namespace_that_does_not_exist_is_left_out if {
	alone := testing.route("cart", [], [])
	paths := hierarchy.paths(testing.cart_route, true) with input as {"changes": {"upsert": [alone]}}
	paths == {[testing.cart_route]}
}

test_a_class_and_a_namespace_have_no_parents if {
	hierarchy.parents("gateway.networking.k8s.io/GatewayClass/-/example") == set()
	hierarchy.parents("core/Namespace/-/shop") == set()
}
