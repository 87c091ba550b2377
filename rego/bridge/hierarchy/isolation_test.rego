package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_hosted(name, fields) := object.union(testing.listener(name, 80), fields)

_isolating := testing.gateway("public", [
	_hosted("any", {}),
	_hosted("wide", {"hostname": "*.shop.test"}),
	_hosted("narrow", {"hostname": "*.eu.shop.test"}),
	_hosted("own", {"hostname": "Cart.shop.test"}),
	_hosted("other-port", {"port": 81, "hostname": "*.shop.test"}),
	_hosted("tls", {"port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"}}),
	_hosted("secure", {"port": 443, "protocol": "HTTPS", "hostname": "*.eu.shop.test"}),
])

# The listeners above a route with these hostnames, by the controller of their Gateway's class.
_listeners_by(controller, hostnames) := {split(node, "#")[1] | some node in found} if {
	class := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {"controllerName": controller})
	route := object.union(testing.route("cart", [{"name": "public", "namespace": "infra"}], []), {"spec": {"hostnames": hostnames}})
	found := hierarchy.parents(testing.cart_route) with input as {"changes": {"upsert": [class, _isolating, route]}}
}

_above(hostnames) := _listeners_by("example.com/controller", hostnames)

test_listener_gets_no_route_with_hostnames_of_more_specific_listeners if {
	_above(["cart.shop.test"]) == {"own", "other-port"}
	_above(["a.eu.shop.test"]) == {"narrow", "other-port", "secure"}
	_above(["*.eu.shop.test"]) == {"narrow", "other-port", "secure"}
	_above(["cart.shop.test", "a.eu.shop.test"]) == {"own", "narrow", "other-port", "secure"}
}

test_listener_keeps_a_route_with_some_hostnames_for_it if {
	_above([]) == {"any", "wide", "narrow", "own", "other-port", "secure"}
	_above(["*.test"]) == {"any", "wide", "narrow", "own", "other-port", "secure"}
	_above(["x.shop.test"]) == {"wide", "other-port"}
	_above(["x.shop.test", "x.test"]) == {"any", "wide", "other-port"}
}

# Envoy Gateway: computeHosts in internal/gatewayapi/helpers.go.
test_listeners_that_share_virtual_hosts_take_their_own_hostname_only if {
	every controller in ["gateway.envoyproxy.io/gatewayclass-controller", "istio.io/gateway-controller"] {
		_listeners_by(controller, ["a.eu.shop.test"]) == {"any", "wide", "narrow", "other-port", "secure"}
		_listeners_by(controller, ["cart.shop.test"]) == {"own", "other-port"}
		_listeners_by(controller, ["*.eu.shop.test"]) == {"narrow", "other-port", "secure"}
	}
}

test_link_to_an_isolated_listener_says_so if {
	route := object.union(testing.route("cart", [{"name": "public", "namespace": "infra", "sectionName": "any"}], []), {"spec": {"hostnames": ["cart.shop.test"]}})
	[link] := [link | some link in hierarchy.rejected_above(testing.cart_route)] with input as {"changes": {"upsert": [_isolating, route]}}
	[link.parent, link.reason] == ["gateway.networking.k8s.io/Gateway/infra/public#any", "ListenerIsolation"]
	link.message == "more specific listeners take all requests for the hostnames of HTTPRoute/shop/cart from Gateway/infra/public#any"
}

test_listener_that_is_not_accepted_takes_no_hostname if {
	gateway := testing.gateway("public", [_hosted("any", {}), _hosted("one", {"hostname": "a.test"}), _hosted("two", {"hostname": "a.test"})])
	route := object.union(testing.route("cart", [{"name": "public", "namespace": "infra"}], []), {"spec": {"hostnames": ["a.test"]}})
	found := hierarchy.parents(testing.cart_route) with input as {"changes": {"upsert": [gateway, route]}}
	found == {"gateway.networking.k8s.io/Gateway/infra/public#any"}
}

_set_of_hosts(name, hostname) := testing.with_spec(testing.resource(testing.gateway_api, "ListenerSet", "shop", name), {
	"parentRef": {"name": "public", "namespace": "infra"},
	"listeners": [object.union(testing.listener("own", 80), {"hostname": hostname})],
})

# Its Gateway is among the objects whose links a change may affect, because of the routes of other listeners.
test_listener_set_that_takes_hostnames_concerns_its_gateway if {
	key := "gateway.networking.k8s.io/ListenerSet/shop/more"
	every hostname, concerned in {"x.shop.test": {"gateway.networking.k8s.io/Gateway/infra/public"}, "x.other.org": set()} {
		gateway := testing.gateway("public", [_hosted("wide", {"hostname": "*.shop.test"})])
		found := hierarchy.rivals(key) with input as {"changes": {"upsert": [gateway, _set_of_hosts("more", hostname)]}}
		found == concerned
	}
}

test_a_route_and_a_listener_with_one_hostname_have_it_in_common if {
	hierarchy.common_hostnames(["shop.example.com"], "shop.example.com") == {"shop.example.com"}
	hierarchy.common_hostnames(["shop.example.com"], "*.example.com") == {"shop.example.com"}
	hierarchy.common_hostnames(["*.example.com"], "shop.example.com") == {"shop.example.com"}
	hierarchy.common_hostnames(["shop.example.com"], "") == {"shop.example.com"}
	hierarchy.common_hostnames(["shop.example.com"], "other.example.com") == set()
}
