package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_children_of(node, objects) := found if {
	found := hierarchy.children(node) with input as testing.changed(objects)
}

test_a_gateway_has_its_listeners_below if {
	_children_of(_gateway, []) == {testing.listener_http, concat("#", [_gateway, "alt"])}
}

test_only_routes_with_an_accepted_link_are_children if {
	_children_of(testing.listener_http, []) == {testing.cart_route}
	_children_of(concat("#", [_gateway, "alt"]), []) == set()
}

test_a_rule_has_its_own_backends_below if {
	other := testing.route("other", [{"name": "public", "namespace": "infra"}], [{"name": "all", "backendRefs": [{"name": "gone", "port": 80}]}])
	_children_of(testing.cart_pay, [other]) == {"core/Service/shop/cart"}
	_children_of("gateway.networking.k8s.io/HTTPRoute/shop/other#all", [other]) == set()
}

test_a_frontend_has_its_routes_below if {
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [{"name": "all"}])
	_children_of("core/Service/shop/cart@frontend", [mesh]) == {"gateway.networking.k8s.io/HTTPRoute/shop/mesh"}
	_children_of("core/Service/shop/cart", [mesh]) == {"core/Service/shop/cart#http", "core/Service/shop/cart#admin"}
}

test_a_namespace_has_members if {
	found := hierarchy.members("shop") with input as testing.changed([])
	found == {testing.cart_route, "core/Service/shop/cart"}
}

test_a_frontend_is_a_member_of_its_namespace if {
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [{"name": "all"}])
	found := hierarchy.members("shop") with input as testing.changed([mesh])
	"core/Service/shop/cart@frontend" in found
}

test_within_goes_to_the_requested_depth if {
	found := [count(hierarchy.reach("below", {_gateway}, depth)) | some depth in [0, 1, 2, 3, 4, 5, 15]] with input as testing.changed([])
	found == [1, 3, 4, 6, 7, 9, 9]
}

test_below_a_class_is_all_that_declares_it if {
	below := hierarchy.objects_below("gateway.networking.k8s.io/GatewayClass/-/example") with input as testing.changed([])
	below == {
		"gateway.networking.k8s.io/GatewayClass/-/example",
		_gateway_key,
		testing.cart_route,
		"core/Service/shop/cart",
	}
}

test_below_a_namespace_are_its_objects if {
	below := hierarchy.objects_below("core/Namespace/-/shop") with input as testing.changed([])
	below == {"core/Namespace/-/shop", testing.cart_route, "core/Service/shop/cart"}
}

test_below_a_stored_namespace_are_its_objects_and_their_declarations if {
	below := hierarchy.objects_below("core/Namespace/-/infra") with data.objects as testing.stored(testing.world)
		with data.index as testing.stored_index(testing.world)
	below == {"core/Namespace/-/infra", _gateway_key, testing.cart_route, "core/Service/shop/cart"}
}

test_below_a_backend_is_itself if {
	below := hierarchy.objects_below("core/Service/shop/cart") with input as testing.changed([])
	below == {"core/Service/shop/cart"}
}
