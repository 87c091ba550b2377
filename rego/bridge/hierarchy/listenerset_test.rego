package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.lib.levels
import data.bridge.testing

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
		refusal := hierarchy.listener_set_rejection(_set_key, _gateway_key) with input as _around([_allowing(namespaces)])
	]
	no := "NotAllowed"
	refusals == [no, no, no, "", "", no, no]
	hierarchy.listener_set_rejection(_set_key, _gateway_key) == "ParentNotFound"
	says_nothing := hierarchy.listener_set_rejection(_set_key, _gateway_key) with input as _around([testing.gateway("public", [])])
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
	why := "Gateway infra/public allows no ListenerSet from namespace team: see its allowedListeners"
	[[link.parent, link.child, link.reason, link.message] | some link in links] == [
		[_set_listener, _route_below, "NotAllowed", sprintf("ListenerSet team/extra#shop is not accepted: %s", [why])],
		[_set_listener_tcp, _route_below, "NotAllowed", sprintf("ListenerSet team/extra#tcp is not accepted: %s", [why])],
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

test_below_a_gateway_is_what_its_listener_sets_hold if {
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
