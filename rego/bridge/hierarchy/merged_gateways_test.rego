package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.testing
import data.bridge.v1

_envoy := "gateway.envoyproxy.io"

_shared_class := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {
	"controllerName": concat("/", [_envoy, "gatewayclass-controller"]),
	"parametersRef": {"group": _envoy, "kind": "EnvoyProxy", "namespace": "infra", "name": "fleet"},
})

_envoy_proxy(merges) := testing.with_spec(testing.resource("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy", "infra", "fleet"), {"mergeGateways": merges})

_key_of(name) := concat("/", [keys.gateway_api, "Gateway/infra", name])

_fleet(objects) := {"changes": {"upsert": array.concat(
	[obj | some obj in testing.world; not obj.kind in {"GatewayClass", "Gateway", "HTTPRoute"}],
	array.concat([_shared_class], objects),
)}}

_port(name, port, hostname) := object.union(testing.listener(name, port), {"hostname": hostname})

_older := testing.created(testing.gateway("zeta", [_port("http", 80, "a.test"), _port("other", 80, "b.test")]), 1)

_younger := testing.created(testing.gateway("alpha", [_port("web", 80, "a.test"), _port("free", 80, "c.test"), _port("far", 81, "a.test")]), 2)

test_listener_that_an_older_gateway_of_the_same_proxies_has_is_not_accepted if {
	unaccepted := hierarchy.unaccepted_listeners(_key_of("alpha")) with input as _fleet([_envoy_proxy(true), _older, _younger])
	unaccepted == {"web": {"reason": "HostnameConflict", "rival": _key_of("zeta")}}
	hierarchy.unaccepted_listeners(_key_of("zeta")) == {} with input as _fleet([_envoy_proxy(true), _older, _younger])
}

test_gateways_with_proxies_of_their_own_do_not_conflict if {
	every objects in [[_envoy_proxy(false), _older, _younger], [_older, _younger]] {
		hierarchy.unaccepted_listeners(_key_of("alpha")) == {} with input as _fleet(objects)
	}
}

test_gateways_of_other_classes_have_other_proxies if {
	other := object.union(_older, {"spec": {"gatewayClassName": "other"}})
	hierarchy.unaccepted_listeners(_key_of("alpha")) == {} with input as _fleet([_envoy_proxy(true), other, _younger])
}

test_listener_of_a_listener_set_conflicts_with_those_of_other_gateways if {
	set := testing.with_spec(testing.resource(testing.gateway_api, "ListenerSet", "infra", "more"), {
		"parentRef": {"name": "zeta"},
		"listeners": [_port("extra", 81, "a.test")],
	})
	zeta := object.union(_older, {"spec": {"allowedListeners": {"namespaces": {"from": "Same"}}}})
	unaccepted := hierarchy.unaccepted_listeners(_key_of("alpha")) with input as _fleet([_envoy_proxy(true), zeta, _younger, set])
	unaccepted.far == {"reason": "HostnameConflict", "rival": concat("/", [keys.gateway_api, "ListenerSet/infra/more"])}
}

test_route_of_such_a_listener_says_why_it_is_not_attached if {
	route := testing.route("cart", [{"name": "alpha", "namespace": "infra", "sectionName": "web"}], [{"name": "pay"}])
	found := v1.problems with input as object.union(_fleet([_envoy_proxy(true), _older, _younger, route]), {"objects": [testing.cart_route, _key_of("alpha")]})
	{[one.subject, one.reason] | some one in found} == {[testing.cart_route, "HostnameConflict"], [_key_of("alpha"), "HostnameConflict"]}
	every one in found {
		contains(one.message, "Gateway/infra/zeta has another HTTP listener with port 80 and hostname a.test, and mergeGateways lets both Gateways share their proxies")
	}
}

test_whole_gateway_shares_ports_with_gateways_of_the_same_proxies if {
	shared := hierarchy.listeners_sharing_ports(_key_of("zeta"), "") with input as _fleet([_envoy_proxy(true), _older, _younger])
	shared == {concat("#", [_key_of("alpha"), "free"])}
	hierarchy.listeners_sharing_ports(_key_of("zeta"), "") == set() with input as _fleet([_older, _younger])
}

test_changed_parameters_concern_the_gateways_of_their_classes if {
	found := v1.dependents with input as object.union(_fleet([_envoy_proxy(true), _older, _younger]), {"keys": ["gateway.envoyproxy.io/EnvoyProxy/infra/fleet"], "was": {}})
	{_key_of("alpha"), _key_of("zeta")} & {key | some key in found.objects} == {_key_of("alpha"), _key_of("zeta")}
}

test_changed_gateway_concerns_those_of_the_same_proxies if {
	found := v1.dependents with input as object.union(_fleet([_envoy_proxy(true), _older, _younger]), {"keys": [_key_of("zeta")], "was": {}})
	_key_of("alpha") in found.objects
	alone := v1.dependents with input as object.union(_fleet([_older, _younger]), {"keys": [_key_of("zeta")], "was": {}})
	not _key_of("alpha") in alone.objects
}

# A request to the address of one Gateway arrives at the proxies of both.
test_request_at_a_gateway_is_served_by_others_of_the_same_proxies if {
	route := testing.with_hostnames(testing.route("far", [{"name": "zeta", "namespace": "infra"}], [{"name": "all"}]), ["b.test"])
	message := {"host": "b.test", "gateway": _key_of("alpha")}
	found := v1.request with input as object.union(_fleet([_envoy_proxy(true), _older, _younger, route]), message)
	[found.gateway, found.listener, found.nearest] == [_key_of("zeta"), concat("#", [_key_of("zeta"), "other"]), null]
	alone := v1.request with input as object.union(_fleet([_older, _younger, route]), message)
	alone.nearest.reason == "NoListener"
}
