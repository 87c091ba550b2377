package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_picture(objects, keys) := found if {
	found := v1.picture with input as _query_input(objects, {"objects": keys})
}

test_a_picture_begins_at_the_top if {
	found := v1.picture_roots with input as _query_input([], {})
	found[0] == ["gateway.networking.k8s.io/GatewayClass/-/example"]
	_gateway in found[1]
	testing.cart_route in found[3]
}

test_a_picture_begins_with_what_policies_name_too if {
	slow := testing.timeout("slow", 1, [testing.service_ref("lonely")], {"request": "1s"})
	found := v1.picture_roots with input as _query_input([slow], {})
	"core/Service/shop/lonely" in found[4]
}

test_an_object_tells_its_nodes_and_the_edges_that_it_declares if {
	found := _picture([], [testing.cart_route])[testing.cart_route]
	found.alone
	found.nodes[testing.cart_route].level == "Route"
	found.nodes[testing.cart_pay].level == "Rule"
	[testing.cart_route, testing.cart_pay] in found.edges
	[testing.listener_http, testing.cart_route] in found.edges
	[testing.cart_pay, "core/Service/shop/cart"] in found.edges
}

test_a_backend_does_not_tell_who_leads_to_it if {
	found := _picture([], ["core/Service/shop/cart"])["core/Service/shop/cart"]
	not found.alone
	every edge in found.edges {
		edge[0] == "core/Service/shop/cart"
	}
}

test_a_node_of_the_picture_has_its_policies if {
	held := testing.color("shop", "one", 2, [testing.section_ref("HTTPRoute", "cart", "pay")], {})
	found := _picture([held], [testing.cart_route])[testing.cart_route]
	[policy.policy | some policy in found.nodes[testing.cart_pay].policies] == ["example.com/ColorPolicy/shop/one"]
}

test_what_has_no_place_is_not_in_the_picture if {
	_picture([], ["core/Service/shop/none", "example.com/ColorPolicy/shop/x"]) == {}
}

test_links_that_do_not_count_are_reported_with_their_reason if {
	gone := testing.route("lost", [{"name": "none"}], [])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/lost"
	found := _picture([gone], [key])[key]
	[link.reason | some link in found.refused] == ["ParentNotFound"]
}

_redrawn(objects, fields) := found if {
	found := v1.picture_changes with input as _query_input(objects, fields)
}

test_a_policy_redraws_its_targets_of_now_and_before if {
	held := testing.color("shop", "one", 2, [testing.section_ref("HTTPRoute", "cart", "pay")], {})
	policy := "example.com/ColorPolicy/shop/one"
	found := _redrawn([held], {"keys": [policy], "drawn": [], "was": {policy: [["targeted", _gateway]]}})
	found == [policy, _gateway, testing.cart_route]
}

test_a_gateway_redraws_its_routes if {
	testing.cart_route in _redrawn([], {"keys": [_gateway], "drawn": [_gateway]})
}

# GEP-1294: a mesh's routes of one type take effect once the routes of a preferred type have left the Service.
test_a_route_that_left_a_frontend_redraws_the_routes_of_other_types_there if {
	meshed := testing.route("meshed", [{"group": "", "kind": "Service", "name": "cart"}], [])
	left := "gateway.networking.k8s.io/GRPCRoute/shop/left"
	fields := {"keys": [left], "drawn": [left], "was": {left: [["children", "core/Service/shop/cart@frontend"]]}}
	"gateway.networking.k8s.io/HTTPRoute/shop/meshed" in _redrawn([meshed], fields)
}

test_a_namespace_redraws_what_is_in_it if {
	testing.cart_route in _redrawn([], {"keys": ["core/Namespace/-/shop"], "drawn": []})
}

# Its ports decide which of the routes' refs lead to it.
test_a_service_redraws_the_routes_that_name_it if {
	testing.cart_route in _redrawn([], {"keys": ["core/Service/shop/cart"], "drawn": []})
	testing.cart_route in _redrawn([], {"keys": ["core/Service/shop/cart"], "drawn": ["core/Service/shop/cart"]})
}

test_the_queries_of_a_picture_refuse_what_is_not_a_key if {
	bad := v1.picture with input as {"objects": ["x"]}
	bad.error.code == "InvalidInput"
	worse := v1.picture_changes with input as {"keys": 3}
	worse.error.code == "InvalidInput"
}
