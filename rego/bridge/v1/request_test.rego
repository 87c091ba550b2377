package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_query_input(query_input, objects) := answer if {
	answer := v1.request with input as object.union(testing.changed(objects), query_input)
}

_public := "gateway.networking.k8s.io/Gateway/infra/public"

test_request_returns_the_path_and_its_effective_policies if {
	answer := _query_input({"host": "www.example.com", "port": 80}, [testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"x": 1})])
	object.filter(answer, {"gateway", "listener", "route", "rule", "also", "nearest"}) == {
		"gateway": _public,
		"listener": testing.listener_http,
		"route": testing.cart_route,
		"rule": testing.cart_pay,
		"also": [],
		"nearest": null,
	}
	[[one.target, one.weight, one.problem] | some one in answer.backends] == [["core/Service/shop/cart#http", 1, null]]
	[[entry.target, entry.policyKind, entry.paths[0].spec] | some entry in answer.policies] == [[
		testing.cart_pay,
		"example.com/ColorPolicy",
		{"x": 1},
	]]
}

test_request_has_fields_where_the_query_asks if {
	policy := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"x": 1})
	answer := _query_input({"host": "www.example.com", "port": 80, "fields": true}, [policy])
	[path.fields | some entry in answer.policies; some path in entry.paths] == [[{"field": "/x", "value": 1, "policies": ["example.com/ColorPolicy/shop/warm"]}]]
}

# The index as it is stored gives the same as one that is made of changes.
test_request_is_the_same_for_stored_objects_and_changes if {
	query_input := {"host": "www.example.com", "port": 80}
	stored := v1.request with input as query_input with data.objects as testing.stored(testing.world) with data.index as testing.stored_index(testing.world)
	stored == _query_input(query_input, [])
}

_reached(query_input) := [answer.nearest.reached, answer.nearest.reason, [one.reason | some one in answer.nearest.candidates]] if {
	answer := _query_input(query_input, [])
}

test_request_reports_how_far_it_got if {
	_reached({"host": "a", "port": 8080}) == ["Listener", "NoRoute", ["OtherListener"]]
	_reached({"host": "a", "port": 81}) == ["Gateway", "NoListener", ["PortDiffers", "PortDiffers"]]
	_reached({"port": 80, "protocol": "TCP"}) == ["Gateway", "NoListener", ["ProtocolDiffers", "ProtocolDiffers"]]
	nothing := v1.request.nearest with input as {"host": "a"}
	nothing.reason == "NoGateway"
}

test_request_names_the_rules_that_are_nearest if {
	only := testing.route("cart", [{"name": "public", "namespace": "infra"}], [
		{"name": "far", "matches": [{"path": {"value": "/other"}, "method": "PUT"}]},
		{"name": "near", "matches": [{"path": {"value": "/cart/items"}}]},
		{"name": "same", "matches": [{"path": {"value": "/cart"}, "method": "PUT"}]},
	])
	world := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	answer := v1.request with input as {
		"host": "a",
		"path": "/cart/x",
		"port": 80,
		"changes": {"upsert": array.concat(world, [only])},
	}
	[one.message | some one in answer.nearest.candidates] == [
		"path /cart/x is not /cart/items nor below it",
		"method is GET, not PUT",
		"method is GET, not PUT; path /cart/x is not /other nor below it",
	]
}

test_request_of_a_host_that_no_client_serves_names_others if {
	route := object.union(
		testing.route("cart", [{"name": "public", "namespace": "infra"}], [{}]),
		{"spec": {"hostnames": ["www.example.com"]}},
	)
	world := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	answer := v1.request with input as {"host": "api.example.com", "port": 80, "changes": {"upsert": array.concat(world, [route])}}
	[one.message | some one in answer.nearest.candidates] == ["serves www.example.com"]
}

test_request_with_invalid_input_names_the_valid_form if {
	v1.request.error.code == "InvalidInput" with input as {"port": 0}
	missing := v1.request.error with input as {"gateway": "gateway.networking.k8s.io/Gateway/infra/none"}
	missing.code == "TargetNotFound"
}

test_request_shows_a_backend_with_a_bad_name_as_failing if {
	route := testing.route("odd", [{"name": "public", "namespace": "infra"}], [{
		"matches": [{"path": {"value": "/odd"}}],
		"backendRefs": [{"name": "../infra/gw", "port": 80, "weight": 3}, {"name": "cart", "port": 80}],
	}])
	answer := _query_input({"host": "www.example.com", "port": 80, "path": "/odd"}, [route])
	[[one.backend, one.target, one.weight, one.problem] | some one in answer.backends] == [
		[null, null, 3, {"reason": "BackendNotFound", "message": "backendRefs[0] names an object that cannot exist"}],
		["core/Service/shop/cart", "core/Service/shop/cart#http", 1, null],
	]
}

_heavy := "[a-k1]{1000}"

_pattern_route(name, created, paths) := object.union(
	testing.route(name, [{"name": "public", "namespace": "infra"}], [{"name": "only", "matches": [{"path": {"type": "RegularExpression", "value": path}} | some path in paths]}]),
	{"metadata": {"creationTimestamp": created}},
)

_of_patterns(query_input, routes) := answer if {
	world := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	answer := v1.request with input as object.union({"host": "a", "port": 80, "changes": {"upsert": array.concat(world, routes)}}, query_input)
}

test_request_that_a_heavy_pattern_might_take_is_undecided if {
	route := _pattern_route("heavy", "2026-01-01T00:00:00Z", [_heavy])
	answer := _of_patterns({"path": "/aaa"}, [route])
	answer.rule == null
	answer.route == null
	answer.undecided == [{
		"node": "gateway.networking.k8s.io/HTTPRoute/shop/heavy#only",
		"message": "path is not compared with [a-k1]{1000}: the pattern weighs 2012, at most 2000 is compiled",
	}]
	answer.nearest.reason == "CannotTell"
	answer.nearest.message == "Cannot tell: HTTPRoute/shop/heavy#only may serve it, but its pattern is not compiled"
	[one.reason | some one in answer.nearest.candidates] == ["PatternNotCompiled"]
}

test_request_that_a_pattern_of_another_dialect_might_take_is_undecided if {
	every pattern in ["/(?!public).*", "/private(", "/[z-a]"] {
		answer := _of_patterns({"path": "/private"}, [_pattern_route("other", "2026-01-01T00:00:00Z", [pattern])])
		[one.message | some one in answer.undecided] == ["a pattern of it is not valid in RE2, the dialect of the bridge"]
		answer.nearest.reason == "CannotTell"
	}
	_of_patterns({"path": "/private"}, [_pattern_route("other", "2026-01-01T00:00:00Z", ["/public.*"])]).undecided == []
}

test_request_that_a_better_match_takes_is_decided if {
	exact := testing.route("exact", [{"name": "public", "namespace": "infra"}], [{"name": "only", "matches": [{"path": {"type": "Exact", "value": "/aaa"}}]}])
	heavy := _pattern_route("heavy", "2026-01-01T00:00:00Z", [_heavy])
	answer := _of_patterns({"path": "/aaa"}, [heavy, exact])
	answer.rule == "gateway.networking.k8s.io/HTTPRoute/shop/exact#only"
	answer.undecided == []
}

test_heavy_pattern_of_a_route_that_is_not_attached_leaves_requests_decided if {
	other := object.union(_pattern_route("heavy", "2026-01-01T00:00:00Z", [_heavy]), {"spec": {"parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "alt"}]}})
	plain := _pattern_route("plain", "2026-01-01T00:00:00Z", ["/a+"])
	answer := _of_patterns({"path": "/aaa"}, [other, plain])
	answer.rule == "gateway.networking.k8s.io/HTTPRoute/shop/plain#only"
	answer.undecided == []
}

test_heavy_pattern_that_another_part_of_the_match_excludes_leaves_requests_decided if {
	heavy := testing.route("heavy", [{"name": "public", "namespace": "infra"}], [{"name": "only", "matches": [{
		"path": {"type": "RegularExpression", "value": _heavy},
		"method": "PUT",
	}]}])
	answer := _of_patterns({"path": "/aaa"}, [heavy])
	answer.undecided == []
	answer.nearest.reason == "NoMatchingRule"
}

test_routes_with_too_many_patterns_are_undecided_and_the_others_are_not if {
	many := [sprintf("/[a-k]{200}%d", [index]) | some index in numbers.range(1, 600)]
	hostile := _pattern_route("hostile", "2026-01-02T00:00:00Z", many)
	plain := _pattern_route("plain", "2026-01-01T00:00:00Z", ["/a{1,30}"])
	answer := _of_patterns({"path": "/aaa"}, [hostile, plain])
	[one.node | some one in answer.undecided] == ["gateway.networking.k8s.io/HTTPRoute/shop/hostile#only"]
	prefix := testing.route("prefix", [{"name": "public", "namespace": "infra"}], [{"name": "only", "matches": [{"path": {"value": "/aaa"}}]}])
	taken := _of_patterns({"path": "/aaa"}, [hostile, plain, prefix])
	taken.rule == "gateway.networking.k8s.io/HTTPRoute/shop/prefix#only"
}

test_rule_without_patterns_counts_beside_too_many_patterns_of_its_route if {
	many := [{"path": {"type": "RegularExpression", "value": sprintf("/[a-k]{200}%d", [index])}} | some index in numbers.range(1, 600)]
	exact := [{"path": {"type": "Exact", "value": "/aaa"}}]
	route := testing.route("both", [{"name": "public", "namespace": "infra"}], [{"name": "many", "matches": many}, {"name": "exact", "matches": exact}])
	answer := _of_patterns({"path": "/aaa"}, [route])
	answer.rule == "gateway.networking.k8s.io/HTTPRoute/shop/both#exact"
	answer.undecided == []
}

test_grpc_methods_and_headers_are_bounded_alike if {
	route := object.union(
		testing.resource("gateway.networking.k8s.io/v1", "GRPCRoute", "shop", "calls"),
		{"spec": {"parentRefs": [{"name": "public", "namespace": "infra"}], "rules": [{"name": "only", "matches": [{
			"method": {"type": "RegularExpression", "service": _heavy},
			"headers": [{"name": "X-A", "type": "RegularExpression", "value": _heavy}],
		}]}]}},
	)
	answer := _of_patterns({"grpc": {"service": "s", "method": "m"}, "headers": {"x-a": "1"}}, [route])
	[one.node | some one in answer.undecided] == ["gateway.networking.k8s.io/GRPCRoute/shop/calls#only"]
}

test_fields_of_a_request_with_another_type_are_errors if {
	every field in ["host", "path", "method", "sni", "protocol"] {
		v1.request.error.message == sprintf("%s must be a string", [field]) with input as {field: 1}
	}
}

_kind_at_gateways := testing.policykind({
	"group": "example.com", "kind": "StampPolicy", "class": "Direct",
	"targets": [{"group": testing.gateway_group, "kind": "Gateway", "sections": true}],
})

_gateway_with_set := object.union(testing.gateway("edge", [testing.listener("web", 80)]), {"spec": {"allowedListeners": {"namespaces": {"from": "All"}}}})

_set_of_edge := testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "ListenerSet", "infra", "more"), {
	"parentRef": {"name": "edge"},
	"listeners": [testing.listener("extra", 81)],
})

_far_route_at(parent) := testing.route("far", [object.union(parent, {"group": testing.gateway_group, "namespace": "infra"})], [{"name": "all"}])

# A listener of a ListenerSet is no section of the Gateway, so the policy of the whole Gateway is not one of the listener.
test_policies_of_a_gateway_stay_where_a_listener_set_serves_the_request if {
	stamp := testing.with_spec(testing.resource("example.com/v1", "StampPolicy", "infra", "stamp"), {"targetRefs": [testing.ref("Gateway", "edge")], "ink": "red"})
	world := [_kind_at_gateways, _gateway_with_set, _set_of_edge, stamp]
	by_set := _query_input({"host": "a.test", "port": 81, "gateway": "gateway.networking.k8s.io/Gateway/infra/edge"}, array.concat(world, [_far_route_at({"kind": "ListenerSet", "name": "more"})]))
	[one.target | some one in by_set.policies] == ["gateway.networking.k8s.io/Gateway/infra/edge"]
	by_gateway := _query_input({"host": "a.test", "port": 80, "gateway": "gateway.networking.k8s.io/Gateway/infra/edge"}, array.concat(world, [_far_route_at({"kind": "Gateway", "name": "edge"})]))
	[one.target | some one in by_gateway.policies] == ["gateway.networking.k8s.io/Gateway/infra/edge#web"]
}
