package bridge.topology_test

import data.bridge.testing
import data.bridge.topology

_gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"

_far := {"name": "public", "namespace": "infra"}

# The links of `node` that do not count, in the fixtures' world with these objects.
_refused(objects, node) := [[link.parent, link.child, link.reason] | some link in links] if {
	links := topology.rejected_links({node}) with input as testing.changed(objects)
}

# The same of the fixtures' route where there are only these objects.
_refused_of(objects) := [[link.parent, link.child, link.reason] | some link in links] if {
	links := topology.rejected_links({testing.cart_route}) with input as {"changes": {"upsert": objects}}
}

test_a_link_that_does_not_count_is_reported_from_both_ends if {
	route := testing.route("lost", [object.union(_far, {"sectionName": "gone"})], [])
	expected := [[_gateway_key, "gateway.networking.k8s.io/HTTPRoute/shop/lost", "NoMatchingParent"]]
	_refused([route], "gateway.networking.k8s.io/HTTPRoute/shop/lost") == expected
	_refused([route], testing.listener_http) == expected
}

test_a_link_of_something_else_is_not_reported if {
	route := testing.route("lost", [{"name": "gone"}], [])
	_refused([route], testing.listener_http) == []
}

test_a_listener_that_does_not_take_a_route_is_no_matter_where_another_does if {
	tls := object.union(testing.listener("tls", 443), {"hostname": "*.example.com"})
	gateway := testing.gateway("public", [testing.listener("http", 80), tls])
	both := object.union(testing.route("cart", [_far], []), {"spec": {"hostnames": ["shop.org"]}})
	_refused_of([gateway, both]) == []
	named := [_far, object.union(_far, {"sectionName": "tls"})]
	query_input := object.union(testing.route("cart", named, []), {"spec": {"hostnames": ["shop.org"]}})
	_refused_of([gateway, query_input]) == [[sprintf("%s#tls", [_gateway_key]), testing.cart_route, "NoMatchingListenerHostname"]]
}

test_a_frontend_is_another_end_than_the_backend if {
	route := testing.route("mesh", [{"group": "", "kind": "Service", "name": "gone"}], [])
	expected := [["core/Service/shop/gone@frontend", "gateway.networking.k8s.io/HTTPRoute/shop/mesh", "ParentNotFound"]]
	_refused([route], "core/Service/shop/gone@frontend") == expected
	_refused([route], "core/Service/shop/gone") == []
}
