package bridge.routing_test

import data.bridge.routing
import data.bridge.testing

_envoy_gateway := "gateway.envoyproxy.io/gatewayclass-controller"

_served_route(name, hostnames, fields) := object.union(
	testing.route(name, [object.union({"name": "public", "namespace": "infra"}, fields.parent)], [{"name": "r", "matches": [fields.match]}]),
	{"spec": {"hostnames": hostnames}},
)

_match_of(match) := {"parent": {}, "match": match}

_under(controller, listeners, routes, query_input) := found if {
	class := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {"controllerName": controller})
	objects := array.concat([class, testing.gateway("public", listeners)], routes)
	answer := routing.answer with input as object.union({"host": "a.test", "path": "/p/q", "changes": {"upsert": objects}}, query_input)
	found := object.union(answer, {"served": split(answer.rule, "/")[3]})
} else := answer if {
	class := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "example"), {"controllerName": controller})
	objects := array.concat([class, testing.gateway("public", listeners)], routes)
	answer := routing.answer with input as object.union({"host": "a.test", "path": "/p/q", "changes": {"upsert": objects}}, query_input)
}

_reasons(answer) := [[warning.reason, warning.message] | some warning in answer.warnings]

_one_listener := [testing.listener("http", 80)]

_fallback := [
	_served_route("exact", ["a.test"], _match_of({"path": {"value": "/other"}})),
	_served_route("wild", ["*.test"], _match_of({"path": {"value": "/p"}})),
]

test_next_hostname_serves_a_request_unless_the_implementation_has_virtual_hosts if {
	spec := _under("example.com/x", _one_listener, _fallback, {})
	spec.served == "wild#r"
	[reason | some [reason, _] in _reasons(spec)] == ["MoreSpecificHostname"]
	every controller, name in {_envoy_gateway: "Envoy Gateway", "istio.io/gateway-controller": "Istio"} {
		own := _under(controller, _one_listener, _fallback, {})
		[own.rule, own.failure.status] == [null, "404"]
		_reasons(own) == [["SpecificationDiffers", sprintf("By Gateway API HTTPRoute/shop/wild#r serves this request, but by %s it doesn't", [name])]]
	}
}

test_virtual_hosts_compare_hostnames_as_they_intersect_the_listeners if {
	listeners := [object.union(testing.listener("http", 80), {"hostname": "a.test"})]
	routes := [
		_served_route("exact", ["a.test"], _match_of({"path": {"value": "/p"}})),
		_served_route("wild", ["*.test"], _match_of({"path": {"type": "Exact", "value": "/p/q"}})),
	]
	spec := _under("example.com/x", listeners, routes, {})
	spec.served == "exact#r"
	_reasons(spec) == [["MoreSpecificHostname", "data planes based on Envoy let HTTPRoute/shop/wild#r serve this request: they compare the hostnames that routes and listeners have in common"]]
	own := _under(_envoy_gateway, listeners, routes, {})
	own.served == "wild#r"
	_reasons(own) == [["SpecificationDiffers", "By Gateway API HTTPRoute/shop/exact#r serves this request, but by Envoy Gateway it doesn't"]]
}

test_listener_without_routes_hides_none_where_listeners_share_virtual_hosts if {
	listeners := [
		object.union(testing.listener("narrow", 80), {"hostname": "*.a.test"}),
		object.union(testing.listener("wide", 80), {"hostname": "*.test"}),
	]
	routes := [_served_route("only", [], {"parent": {"sectionName": "wide"}, "match": {}})]
	query_input := {"host": "b.a.test"}
	spec := _under("example.com/x", listeners, routes, query_input)
	spec.nearest.reason == "NoRoute"
	[reason | some [reason, _] in _reasons(spec)] == ["MoreSpecificHostname"]
	own := _under("istio.io/gateway-controller", listeners, routes, query_input)
	[own.served, split(own.listener, "#")[1]] == ["only#r", "wide"]
	_reasons(own) == [["SpecificationDiffers", "By Gateway API no rule serves this request, but by Istio one does"]]
}

# Envoy Gateway: internal/gatewayapi/sort.go.
test_order_of_matches_is_that_of_the_implementation if {
	routes := [
		_served_route("method", ["a.test"], _match_of({"path": {"value": "/p"}, "method": "GET"})),
		_served_route("headers", ["a.test"], _match_of({"path": {"value": "/p"}, "headers": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}]})),
	]
	query_input := {"headers": {"x": "1", "y": "1"}}
	_under("example.com/x", _one_listener, routes, query_input).served == "method#r"
	_under(_envoy_gateway, _one_listener, routes, query_input).served == "headers#r"
}

test_envoy_gateway_serves_other_requests_by_the_path_of_a_call if {
	calls := json.patch(_served_route("calls", ["a.test"], _match_of({"method": {"service": "shop.Cart"}})), [{"op": "replace", "path": "/kind", "value": "GRPCRoute"}])
	query_input := {"path": "/shop.Cart/Add"}
	_under("example.com/x", _one_listener, [calls], query_input).rule == null
	own := _under(_envoy_gateway, _one_listener, [calls], query_input)
	[own.served, own.failure.status] == ["calls#r", "500"]
}

# Envoy Gateway translates a method without a service to the end of the header `:path`, which has the query.
test_method_without_a_service_is_the_end_of_path_and_query_for_envoy_gateway if {
	calls := json.patch(_served_route("calls", ["a.test"], _match_of({"method": {"method": "Add"}})), [{"op": "replace", "path": "/kind", "value": "GRPCRoute"}])
	served := [
		{"path": "/shop.Cart/Add"},
		{"path": "/v1/shop.Cart/Add"},
		{"path": "/Add"},
		{"path": "/shop.Cart/List", "query": {"next": "/Add"}},
		{"path": "/shop.Cart/Add", "grpc": {"service": "shop.Cart", "method": "Add"}},
	]
	every query_input in served {
		_under(_envoy_gateway, _one_listener, [calls], query_input).served == "calls#r"
	}
	every query_input in [{"path": "/shop.Cart/ReAdd"}, {"path": "/shop.Cart/Add", "query": {"q": "1"}}] {
		_under(_envoy_gateway, _one_listener, [calls], query_input).rule == null
	}
	specification := {"path": "/shop.Cart/Add", "grpc": {"service": "shop.Cart", "method": "Add"}, "query": {"q": "1"}}
	_under("example.com/x", _one_listener, [calls], specification).served == "calls#r"
}

test_path_that_data_planes_may_normalize_has_a_warning if {
	routes := [_served_route("one", ["a.test"], _match_of({"path": {"value": "/p"}}))]
	every path in ["/p//q", "/p/../x", "/p/./q", "/p/..", "/%70/q", "/p%2Fq", "/p%2e%2e/q", `/p\q`] {
		found := _under(_envoy_gateway, _one_listener, routes, {"path": path})
		_reasons(found) == [["PathNotNormal", sprintf("Data planes may normalize the path %s before they choose a rule: request its normal form too", [path])]]
	}
	every path in ["/p/q", "/p/.well-known/..x", "/p/a%20b", "/p/..."] {
		_reasons(_under(_envoy_gateway, _one_listener, routes, {"path": path})) == []
	}
}

test_request_that_no_rule_serves_by_its_unnormal_path_has_the_warning_too if {
	routes := [_served_route("one", ["a.test"], _match_of({"path": {"value": "/p"}}))]
	found := _under(_envoy_gateway, _one_listener, routes, {"path": "//p"})
	[found.rule, [reason | some [reason, _] in _reasons(found)]] == [null, ["PathNotNormal"]]
}
