package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.testing

_gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"

test_of_two_listeners_with_one_name_the_first_counts if {
	twice := testing.gateway("public", [testing.listener("http", 80), testing.listener("http", 81)])
	listeners := hierarchy.listeners(_gateway_key) with input as {"changes": {"upsert": [twice]}}
	listeners == [testing.listener("http", 80)]
}

test_a_listener_that_no_section_name_can_name_does_not_count if {
	odd := testing.gateway("public", [{"port": 80}, {"name": "a#b", "port": 80}, testing.listener("http", 80)])
	listeners := hierarchy.listeners(_gateway_key) with input as {"changes": {"upsert": [odd]}}
	listeners == [testing.listener("http", 80)]
}

test_the_class_is_above_the_gateway if {
	parents := hierarchy.parents(_gateway_key) with input as testing.changed([])
	parents == {"gateway.networking.k8s.io/GatewayClass/-/example"}
}

# P2
test_a_class_that_does_not_exist_is_left_out if {
	alone := testing.gateway("public", [])
	parents := hierarchy.parents(_gateway_key) with input as {"changes": {"upsert": [alone]}}
	parents == set()
}

_http_route := "gateway.networking.k8s.io/HTTPRoute"

# Why a listener with these allowedRoutes admits no HTTPRoutes from the namespace shop; the Gateway is in infra.
_refusal(allowed_routes) := _refusal_of({"name": "x", "port": 80, "protocol": "HTTP", "allowedRoutes": allowed_routes})

_refusal_of(listener) := hierarchy.listener_rejection(_gateway_key, listener, _http_route, "shop")

# Gateway API, AllowedRoutes.
test_a_listener_admits_the_namespaces_that_it_allows if {
	refusals := [refusal |
		some allowed in [
			{"namespaces": {"from": "All"}},
			{"namespaces": {"from": "Same"}},
			{"namespaces": {"from": "None"}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "blog"}}}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}},
			{"namespaces": {"from": "Selector"}},
			{},
		]
		labelled := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}}
		refusal := _refusal(allowed) with input as {"changes": {"upsert": [labelled]}}
	]
	no := "NotAllowedByListeners"
	refusals == ["", no, no, "", no, "", no, no]
}

test_a_listener_without_allowed_routes_allows_its_own_namespace if {
	hierarchy.listener_rejection(_gateway_key, {"name": "x", "port": 80, "protocol": "HTTP"}, _http_route, "infra") == ""
}

# P2: a Namespace that is not there still has its name, so manifests of one application can be checked alone.
test_a_namespace_that_is_missing_has_the_label_of_its_name if {
	lookup.namespace_labels("shop") == {"kubernetes.io/metadata.name": "shop"}
}

test_a_listener_admits_the_kinds_that_it_allows_or_its_protocol_takes if {
	all := {"namespaces": {"from": "All"}}
	refusals := [refusal |
		some listener in [
			{"protocol": "HTTP", "allowedRoutes": all},
			{"protocol": "HTTPS", "allowedRoutes": all},
			{"protocol": "TCP", "allowedRoutes": all},
			{"protocol": "acme.io/tunnel", "allowedRoutes": all},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"kind": "GRPCRoute"}]})},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"kind": "HTTPRoute"}]})},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"group": "acme.io", "kind": "HTTPRoute"}]})},
		]
		refusal := _refusal_of(object.union(listener, {"name": "x", "port": 80}))
	]
	no := "NotAllowedByListeners"
	refusals == ["", "", no, "", no, "", no]
}

# Gateway API, ProtocolType and TLSModeType.
test_a_tls_listener_takes_tlsroutes_and_where_tls_ends_there_tcproutes if {
	admitted := {mode: kinds |
		some mode in ["Passthrough", "Terminate"]
		listener := {"name": "x", "port": 443, "protocol": "TLS", "tls": {"mode": mode}}
		kinds := [kind |
			some kind in ["HTTPRoute", "TLSRoute", "TCPRoute"]
			type := concat("/", ["gateway.networking.k8s.io", kind])
			hierarchy.listener_rejection(_gateway_key, listener, type, "infra") == ""
		]
	}
	admitted == {"Passthrough": ["TLSRoute"], "Terminate": ["TLSRoute", "TCPRoute"]}
}

_class_key := "gateway.networking.k8s.io/GatewayClass/-/example"

_set_key := "gateway.networking.k8s.io/ListenerSet/team/extra"

_set_listener := "gateway.networking.k8s.io/ListenerSet/team/extra#shop"

_route_below := "gateway.networking.k8s.io/HTTPRoute/team/app"

_listener_set(gateway_namespace) := testing.with_spec(
	testing.resource(testing.gateway_api, "ListenerSet", "team", "extra"),
	{
		"parentRef": {"name": "public", "namespace": gateway_namespace},
		"listeners": [{"name": "shop", "port": 80, "protocol": "HTTP"}, {"name": "tcp", "port": 81, "protocol": "TCP"}],
	},
)

_allowing(namespaces) := object.union(testing.gateway("public", []), {"spec": {"allowedListeners": {"namespaces": namespaces}}})

# Gateway API, ListenerSet, "Listener Precedence": TCP excludes what else is on a port except UDP.
test_a_tcp_listener_excludes_listeners_of_later_objects_except_udp if {
	all := object.union(_allowing({"from": "All"}), {"spec": {"listeners": [{"name": "dns", "port": 53, "protocol": "TCP"}]}})
	reasons := {protocol: {conflict.reason | some conflict in found} |
		some protocol in ["TCP", "UDP", "HTTP", "TLS"]
		listener_set := object.union(_listener_set("infra"), {"spec": {"listeners": [{"name": "own", "port": 53, "protocol": protocol}]}})
		found := hierarchy.unaccepted_listeners(_set_key) with input as _around([all, listener_set])
	}
	reasons == {"TCP": {"ProtocolConflict"}, "UDP": set(), "HTTP": {"ProtocolConflict"}, "TLS": {"ProtocolConflict"}}
}

_set_route(ref) := {
	"apiVersion": testing.gateway_api,
	"kind": "HTTPRoute",
	"metadata": {"name": "app", "namespace": "team"},
	"spec": {"parentRefs": [object.union({"kind": "ListenerSet", "name": "extra"}, ref)]},
}

_around(objects) := {"changes": {"upsert": array.concat(
	[
		testing.resource(testing.gateway_api, "GatewayClass", "", "example"),
		testing.resource("v1", "Namespace", "", "infra"),
		{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"team": "shop"}}},
	],
	objects,
)}}

# P3
test_the_namespace_of_a_listener_set_is_above_it_if_its_gateway_is_in_another if {
	objects := [_allowing({"from": "All"}), _listener_set("infra"), _set_route({})]
	paths := hierarchy.paths(_set_listener, true) with input as _around(objects)
	paths == {[_class_key, "core/Namespace/-/infra", _gateway_key, "core/Namespace/-/team", _set_key, _set_listener]}
}

test_the_namespace_of_a_listener_set_and_its_gateway_stands_once_above_both if {
	gateway := object.union(_allowing({"from": "Same"}), {"metadata": {"namespace": "team"}})
	paths := hierarchy.paths(_set_listener, true) with input as _around([gateway, _listener_set("team")])
	paths == {[_class_key, "core/Namespace/-/team", "gateway.networking.k8s.io/Gateway/team/public", _set_key, _set_listener]}
}

# P2, P3
test_a_listener_set_without_a_gateway_starts_its_path_below_its_namespace if {
	paths := hierarchy.paths(_set_listener, true) with input as _around([_listener_set("infra")])
	paths == {["core/Namespace/-/team", _set_key, _set_listener]}
}

# Gateway API, Gateway allowedListeners.
test_a_gateway_takes_the_listener_sets_that_it_allows if {
	refusals := [refusal |
		some namespaces in [
			{},
			{"from": "None"},
			{"from": "Same"},
			{"from": "All"},
			{"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}},
			{"from": "Selector", "selector": {"matchLabels": {"team": "blog"}}},
			{"from": "Selector"},
		]
		refusal := hierarchy.gateway_link(_set_key)[1] with input as _around([_allowing(namespaces), _listener_set("infra")])
	]
	no := "NotAllowed"
	refusals == [no, no, no, "", "", no, no]
	missing := hierarchy.gateway_link(_set_key)[1] with input as _around([_listener_set("infra")])
	missing == "ParentNotFound"
	says_nothing := hierarchy.gateway_link(_set_key)[1] with input as _around([testing.gateway("public", []), _listener_set("infra")])
	says_nothing == no
}

# Gateway API, ParentReference.
test_a_route_names_a_listener_of_a_listener_set_by_section_name_and_port if {
	every row in [
		[{}, {_set_listener}],
		[{"sectionName": "shop"}, {_set_listener}],
		[{"sectionName": "tcp"}, set()],
		[{"port": 80}, {_set_listener}],
		[{"sectionName": "shop", "port": 81}, set()],
	] {
		parents := hierarchy.parents(_route_below) with input as _around([_listener_set("infra"), _set_route(row[0])])
		parents == row[1]
	}
}

# Gateway API, RouteNamespaces: the namespace of the ListenerSet, not of its Gateway.
test_same_means_the_namespace_of_the_listener_set if {
	elsewhere := object.union(_set_route({"namespace": "team"}), {"metadata": {"namespace": "infra"}})
	parents := hierarchy.parents("gateway.networking.k8s.io/HTTPRoute/infra/app") with input as _around([_listener_set("infra"), elsewhere])
	parents == set()
}

test_a_listener_set_that_a_gateway_does_not_take_is_reported if {
	objects := [_allowing({"from": "Same"}), _listener_set("infra"), _set_route({})]
	links := hierarchy.rejected_links(_route_below) with input as _around(objects)
	why := "Gateway/infra/public does not accept ListenerSets from namespace team. Check its allowedListeners"
	[[link.parent, link.child, link.reason, link.message] | some link in links] == [
		[_set_listener, _route_below, "NotAllowed", sprintf("ListenerSet/team/extra#shop is not accepted: %s", [why])],
		[_set_listener_tcp, _route_below, "NotAllowed", sprintf("ListenerSet/team/extra#tcp is not accepted: %s", [why])],
		[_gateway_key, _set_key, "NotAllowed", why],
	]
}

# P2
test_nothing_is_below_a_listener_set_that_a_gateway_does_not_take if {
	every row in [[{"from": "Same"}, set()], [{"from": "All"}, {_set_listener}]] {
		objects := [_allowing(row[0]), _listener_set("infra"), _set_route({})]
		above := hierarchy.parents(_route_below) with input as _around(objects)
		above == row[1]
		below := hierarchy.children(_set_key) with input as _around(objects)
		{_set_listener} & below == row[1]
	}
	alone := hierarchy.parents(_route_below) with input as _around([_listener_set("infra"), _set_route({})])
	alone == {_set_listener}
}

_set_listener_tcp := "gateway.networking.k8s.io/ListenerSet/team/extra#tcp"

test_below_a_gateway_are_the_objects_of_its_listener_sets if {
	below := hierarchy.objects_below(_gateway_key) with input as _around([_listener_set("infra"), _set_route({})])
	below == {_gateway_key, _set_key, _route_below}
}

test_sections_of_a_listener_set_are_its_listeners if {
	levels.has_sections("gateway.networking.k8s.io/ListenerSet")
	levels.of(_set_key) == "ListenerSet"
	levels.of(_set_listener) == "Listener"
	node := hierarchy.canonical_key(_set_listener) with input as _around([_listener_set("infra")])
	node == _set_listener
}

test_a_route_without_hostnames_meets_every_listener if {
	hierarchy.hostnames_meet([], "")
	hierarchy.hostnames_meet([], "shop.example.com")
}

test_a_listener_without_hostname_meets_every_route if {
	hierarchy.hostnames_meet(["shop.example.com"], "")
}

test_one_hostname_in_common_is_enough if {
	hierarchy.hostnames_meet(["a.example.com", "b.example.com"], "b.example.com")
	not hierarchy.hostnames_meet(["a.example.com", "b.example.com"], "c.example.com")
}

# Gateway API, Hostname.
test_hostnames_intersect_by_whole_labels_on_the_left if {
	every row in [
		["shop.example.com", "shop.example.com", true],
		["*.example.com", "shop.example.com", true],
		["shop.example.com", "*.example.com", true],
		["*.example.com", "a.b.example.com", true],
		["*.example.com", "*.shop.example.com", true],
		["*.example.com", "example.com", false],
		["*.example.com", "notexample.com", false],
		["shop.example.com", "example.com", false],
		["*.a.example.com", "*.b.example.com", false],
	] {
		[left, right, wanted] := row
		_meet(left, right) == wanted
	}
}

_meet(left, right) if {
	hierarchy.hostnames_meet([left], right)
} else := false
