package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_refused(objects) := [[link.parent, link.child, link.reason, link.message] | some link in links] if {
	links := hierarchy.rejected_links("core/Service/shop/cart") with input as {"changes": {"upsert": objects}}
}

_cart_to(parent_refs, hostnames) := object.union(
	testing.route("cart", parent_refs, [{"backendRefs": [{"name": "cart"}]}]),
	{"spec": {"hostnames": hostnames}},
)

_tls_listener := object.union(testing.listener("tls", 443), {"hostname": "*.example.com"})

_own_listener := {"name": "own", "port": 81, "protocol": "HTTP"}

test_every_link_that_does_not_count_is_reported_with_its_reason if {
	refs := [{"name": "gone"}, {"name": "public", "namespace": "infra"}, {"name": "public", "namespace": "infra", "port": 1}]
	_refused([
		testing.gateway("public", [testing.listener("http", 80), _tls_listener, _own_listener]),
		_cart_to(array.concat(refs, [{"group": "", "kind": "Service", "name": "away"}]), ["shop.org"]),
	]) == [
		[testing.cart_route, "core/Service/shop/cart", "BackendNotFound", "Service/shop/cart does not exist"],
		[
			"gateway.networking.k8s.io/GatewayClass/-/example", _gateway_key, "ParentNotFound",
			"GatewayClass/example does not exist",
		],
		["core/Service/shop/away@frontend", testing.cart_route, "ParentNotFound", "Service/shop/away does not exist"],
		[
			_gateway_key, testing.cart_route, "NoMatchingParent",
			"Gateway/infra/public has no listener or port with the sectionName and port that HTTPRoute/shop/cart names",
		],
		[
			sprintf("%s#own", [_gateway_key]), testing.cart_route, "NotAllowedByListeners",
			"Gateway/infra/public#own does not accept HTTPRoutes from namespace shop. Check its protocol and allowedRoutes",
		],
		[
			sprintf("%s#tls", [_gateway_key]), testing.cart_route, "NoMatchingListenerHostname",
			"none of the hostnames of HTTPRoute/shop/cart is one of Gateway/infra/public#tls",
		],
		[
			"gateway.networking.k8s.io/Gateway/shop/gone", testing.cart_route, "ParentNotFound",
			"Gateway/shop/gone does not exist",
		],
	]
}

test_objects_that_the_user_may_not_read_are_not_called_missing if {
	changed := {"changes": {"upsert": [_cart_to([{"name": "edge", "namespace": "infra"}, {"name": "own"}], ["shop.org"])]}}
	unread := {"gateway.networking.k8s.io/Gateway": ["shop"]}
	links := hierarchy.rejected_links("core/Service/shop/cart") with input as changed with data.unread as unread
	{link.message | some link in links; link.reason == "ParentNotFound"} == {
		"you can't read Gateway/infra/edge",
		"Gateway/shop/own does not exist",
	}
}

test_a_backend_that_no_grant_lets_a_route_name_is_reported_and_no_more if {
	route := testing.route("cart", [], [{"backendRefs": [{"name": "bank", "namespace": "payments"}]}])
	links := hierarchy.rejected_links("core/Service/payments/bank") with input as {"changes": {"upsert": [route]}}
	[[link.reason, link.message] | some link in links] == [[
		"RefNotPermitted",
		"no ReferenceGrant in namespace payments lets HTTPRoute/shop/cart name Service/payments/bank",
	]]
}

test_where_all_links_count_nothing_is_refused if {
	links := hierarchy.rejected_links("core/Service/shop/cart#http") with input as testing.changed([])
	links == []
}
