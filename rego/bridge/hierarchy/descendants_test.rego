package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

test_below_a_class_is_all_that_declares_it if {
	below := hierarchy.objects_below("gateway.networking.k8s.io/GatewayClass/-/example") with input as testing.changed([])
	below == {
		"gateway.networking.k8s.io/GatewayClass/-/example",
		_gateway_key,
		testing.cart_route,
		"core/Service/shop/cart",
	}
}

test_below_a_namespace_is_what_it_holds if {
	below := hierarchy.objects_below("core/Namespace/-/shop") with input as testing.changed([])
	below == {"core/Namespace/-/shop", testing.cart_route, "core/Service/shop/cart"}
}

test_below_a_stored_namespace_is_what_it_holds_and_what_that_declares if {
	below := hierarchy.objects_below("core/Namespace/-/infra") with data.objects as testing.stored(testing.world)
		with data.index as testing.stored_index(testing.world)
	below == {"core/Namespace/-/infra", _gateway_key, testing.cart_route, "core/Service/shop/cart"}
}

test_below_a_backend_is_itself if {
	below := hierarchy.objects_below("core/Service/shop/cart") with input as testing.changed([])
	below == {"core/Service/shop/cart"}
}
