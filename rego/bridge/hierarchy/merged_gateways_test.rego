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

_young_with_sets := object.union(_younger, {"spec": {"allowedListeners": {"namespaces": {"from": "Same"}}}})

_set_of(name, gateway, port, hostname) := testing.with_spec(testing.resource(testing.gateway_api, "ListenerSet", "infra", name), {
	"parentRef": {"name": gateway},
	"listeners": [_port("extra", port, hostname)],
})

_key_of_set(name) := concat("/", [keys.gateway_api, "ListenerSet/infra", name])

_set_of_young := _set_of("yset", "alpha", 80, "b.test")

_route_of_set := testing.route("far", [{"kind": "ListenerSet", "name": "yset", "namespace": "infra"}], [{"name": "all"}])

_concerned_by(objects, change) := {key | some key in found.objects} if {
	found := v1.dependents with input as object.union(_fleet(objects), change)
}

test_changed_gateway_concerns_the_listener_sets_of_the_others if {
	found := _concerned_by([_envoy_proxy(true), _older, _young_with_sets, _set_of_young], {"keys": [_key_of("zeta")], "was": {}})
	_key_of_set("yset") in found
	gone := {"keys": [_key_of("zeta")], "was": {_key_of("zeta"): [["children", "gateway.networking.k8s.io/GatewayClass/-/example"]]}}
	{_key_of("alpha"), _key_of_set("yset")} & _concerned_by([_envoy_proxy(true), _young_with_sets, _set_of_young], gone) == {_key_of("alpha"), _key_of_set("yset")}
}

test_deleted_listener_set_concerns_the_gateways_of_the_same_proxies if {
	gone := {"keys": [_key_of_set("more")], "was": {_key_of_set("more"): [["children", _key_of("zeta")], ["claims", _key_of("zeta"), "81", "HTTP/a.test"]]}}
	{_key_of("alpha"), _key_of_set("yset")} & _concerned_by([_envoy_proxy(true), _older, _young_with_sets, _set_of_young], gone) == {_key_of("alpha"), _key_of_set("yset")}
}

test_changed_namespace_of_a_listener_set_concerns_the_gateways_of_the_same_proxies if {
	more := _set_of("more", "zeta", 81, "a.test")
	_key_of("alpha") in _concerned_by([_envoy_proxy(true), _older, _younger, more], {"keys": ["core/Namespace/-/infra"], "was": {}})
}

test_class_and_parameters_that_no_longer_merge_concern_its_gateways if {
	class := "gateway.networking.k8s.io/GatewayClass/-/example"
	every key in {class, "gateway.envoyproxy.io/EnvoyProxy/infra/fleet"} {
		found := _concerned_by([_envoy_proxy(false), _older, _young_with_sets, _set_of_young], {"keys": [key], "was": {}})
		_key_of_set("yset") in found
	}
}

test_picture_follows_gateways_of_the_same_proxies if {
	objects := [_envoy_proxy(true), _older, _young_with_sets, _set_of_young, _route_of_set]
	found := v1.outdated with input as object.union(_fleet(objects), {"keys": [_key_of("zeta")], "was": {}, "wanted": {"picture": {}}})
	wanted := {_key_of("alpha"), _key_of_set("yset"), "gateway.networking.k8s.io/HTTPRoute/shop/far"}
	wanted & {key | some key in found.picture} == wanted
	neighbors := v1.neighbors with input as object.union(_fleet(objects), {"keys": [_key_of("zeta")]})
	wanted & {key | some key in neighbors} == wanted
}

test_view_of_a_gateway_has_those_of_the_same_proxies_with_their_parameters if {
	objects := [_envoy_proxy(true), _older, _young_with_sets, _set_of_young]
	view := {"roots": [_key_of("zeta")], "types": []}
	found := v1.view_keys with input as object.union(_fleet(objects), view)
	{key | some key in found.roots} == {_key_of("zeta"), _key_of("alpha")}
	wanted := {"gateway.envoyproxy.io/EnvoyProxy/infra/fleet", _key_of("alpha"), _key_of_set("yset")}
	wanted & {key | some key in found.keys} == wanted
	wanted & {mark | some mark in found.marks} == wanted
	alone := v1.view_keys with input as object.union(_fleet([_envoy_proxy(false), _older, _young_with_sets, _set_of_young]), view)
	{key | some key in alone.roots} == {_key_of("zeta")}
}

# Parameters that do not merge, as most do, leave every query as fast as without them.
test_only_parameters_that_merge_need_every_object if {
	question := {"targets": [testing.cart_route], "objects": [], "withheld": []}
	some_of := v1.slice with input as object.union(_fleet([_envoy_proxy(false), _older]), question)
	some_of != null
	every_one := v1.slice with input as object.union(_fleet([_envoy_proxy(true), _older]), question)
	every_one == null
	later := v1.slice with input as object.union(_fleet([_envoy_proxy(false), _older]), object.union(question, {"objects": [_envoy_proxy(true)]}))
	later == null
}

test_unread_parameters_make_answers_uncertain if {
	route := testing.with_hostnames(testing.route("far", [{"name": "alpha", "namespace": "infra", "sectionName": "web"}], [{"name": "all"}]), ["a.test"])
	policy := testing.color("shop", "own", 1, [testing.ref("HTTPRoute", "far")], {"color": "x"})
	unread := {"gateway.envoyproxy.io/EnvoyProxy": ["shop"]}
	question := {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/far"]}
	found := v1.effective with input as object.union(_fleet([_older, _younger, route, policy]), question) with data.unread as unread
	[one.incomplete | some target in found; some one in target.paths] == [["you can't read EnvoyProxy/infra/fleet, which may change this result"]]
	unserved := v1.request with input as object.union(_fleet([_older, _younger, route]), {"host": "b.test", "gateway": _key_of("alpha")}) with data.unread as unread
	unserved.nearest.reason == "CannotTell"
	served := v1.request with input as object.union(_fleet([_older, _younger, route]), {"host": "a.test", "gateway": _key_of("alpha")}) with data.unread as unread
	[one.reason | some one in served.warnings] == ["UnreadParameters"]
	alone := v1.effective with input as object.union(_fleet([_younger, route, policy]), question) with data.unread as unread
	not alone[0].paths[0].incomplete
}
