package bridge.answers_test

import data.bridge.testing
import data.bridge.v1

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_calls := "gateway.networking.k8s.io/GRPCRoute/shop/calls"

_objects := array.concat(testing.world, [
	testing.color("infra", "dark", 1, [testing.section_ref("Gateway", "public", "http")], {"theme": "dark"}),
	testing.with_spec(testing.resource(testing.gateway_api, "GRPCRoute", "shop", "calls"), {
		"parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "http"}],
		"hostnames": ["Calls.example.com"],
		"rules": [{"matches": [
			{"method": {"service": "shop.Cart", "method": "Add"}, "headers": [{"name": "X-A", "value": "[a-k1]{1000}", "type": "RegularExpression"}]},
			{"method": {"type": "RegularExpression", "service": "shop.+"}},
		]}],
	}),
])

_everything := [_gateway, testing.cart_route, _calls, "core/Service/shop/cart", "core/Namespace/-/infra", "core/Namespace/-/shop", "gateway.networking.k8s.io/GatewayClass/-/example"]

_answers_of(objects, above) := found if {
	found := v1.answers with input as {"objects": objects, "above": above, "within": _everything, "changes": {"upsert": _objects}}
}

_value(answers, path) := [entry[1] | some entries in answers; some entry in entries; entry[0] == path][0]

test_a_rule_has_its_effective_policies_and_all_spellings_its_targets if {
	answers := _answers_of([testing.cart_route], [_gateway])
	[row] := _value(answers, ["rows", testing.cart_pay, "example.com/ColorPolicy"])
	row.spec == {"theme": "dark"}
	scope := [testing.cart_pay, "example.com/ColorPolicy"]
	_value(answers, ["targets", testing.cart_pay]) == [scope]
	_value(answers, ["targets", concat("", [testing.cart_route, "#[0]"])]) == [scope]
	scope in _value(answers, ["targets", _gateway])
	not _value(answers, ["listeners", testing.listener_http])
}

test_a_gateway_has_its_listeners_by_kind_of_request if {
	answers := _answers_of([_gateway], [])
	_value(answers, ["entries", _gateway, "HTTP", "*"]) == [
		[[0, 0], 1, concat("", [_gateway, "#alt"]), 8080, "HTTP"],
		[[0, 0], 1, testing.listener_http, 80, "HTTP"],
	]
	_value(answers, ["entries", _gateway, "TCP", "*"]) == []
	_value(answers, ["listeners", testing.listener_http]).protocol == "HTTP"
}

test_a_match_that_is_not_an_object_matches_nothing if {
	route := testing.with_spec(testing.resource(testing.gateway_api, "HTTPRoute", "shop", "odd"), {
		"parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "http"}],
		"rules": [{"matches": [1, {"path": {"value": "/odd"}}]}],
	})
	key := "gateway.networking.k8s.io/HTTPRoute/shop/odd"
	answers := v1.answers with input as {"objects": [key], "above": [], "within": [_gateway, key], "changes": {"upsert": array.concat(_objects, [route])}}
	{path[4] | some [path, _] in answers[key]; path[0] == "matches"} == {"/odd/"}
}

test_a_route_has_its_matches_and_the_actions_of_its_rules if {
	answers := _answers_of([testing.cart_route, _calls], [])
	_value(answers, ["rules", testing.listener_http, testing.cart_route, "0"]).rule == testing.cart_pay
	results := _value(answers, ["served", testing.listener_http, testing.cart_route, "0"])
	[backend.target | some backend in results.backends] == ["core/Service/shop/cart#http"]
	results.failure == null
	first := concat("", [testing.cart_route, "#0/0"])
	_value(answers, ["matches", testing.listener_http, "any", "*", "/", first]).route == testing.cart_route
	call := _value(answers, ["matches", testing.listener_http, "GRPC", "calls.example.com", "shop.Cart", concat("", [_calls, "#0/0"])])
	call.conditions == [[["rpc"], "Exact", "Add"], [["service"], "Exact", "shop.Cart"], [["headers", "x-a"], "Present", "[a-k1]{1000}"]]
	startswith(call.heavy, "header is not compared")
	pattern := _value(answers, ["matches", testing.listener_http, "GRPC", "calls.example.com", "*", concat("", [_calls, "#0/1"])])
	pattern.counted == [["service"], []]
	_value(answers, ["hosts", testing.listener_http, "GRPC", "calls.example.com"])
}

test_a_delegate_has_no_matches_of_its_own_and_the_delegating_rule_says_so if {
	top := testing.route("top", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{
		"name": "hand",
		"matches": [{"path": {"value": "/a"}}],
		"backendRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "leaf"}],
	}])
	leaf := testing.route("leaf", [], [{"name": "own", "matches": [{"path": {"value": "/a/b"}}]}])
	[top_key, leaf_key] := [concat("", ["gateway.networking.k8s.io/HTTPRoute/shop/", name]) | some name in ["top", "leaf"]]
	answers := v1.answers with input as {
		"objects": [top_key, leaf_key],
		"above": [],
		"within": array.concat(_everything, [top_key, leaf_key]),
		"changes": {"upsert": array.concat(_objects, [top, leaf])},
	}
	_value(answers, ["matches", testing.listener_http, "any", "*", "/a/", concat("", [top_key, "#0/0"])]).delegated
	listeners := {entry[0][1] | some entries in answers; some entry in entries; entry[0][0] in {"matches", "hosts", "rules", "served"}}
	listeners == {testing.listener_http}
}

_affected(keys, was) := found if {
	change := {"keys": keys, "was": was, "changes": {"upsert": _objects}}
	found := v1.outdated.answers with input as object.union(change, {"wanted": {"answers": {}}})
}

test_a_route_affects_itself_and_the_targets_above if {
	found := _affected([testing.cart_route], {})
	testing.cart_route in found.objects
	not _calls in found.objects
	_gateway in found.above
}

test_a_policy_affects_the_routes_below_and_a_deleted_route_its_gateway if {
	some_routes := _affected(["example.com/ColorPolicy/infra/dark"], {}).objects
	testing.cart_route in some_routes
	gone := "gateway.networking.k8s.io/HTTPRoute/shop/gone"
	_gateway in _affected([gone], {gone: [["children", _gateway]]}).objects
}

test_a_listener_set_affects_the_listeners_of_its_gateway if {
	listener_set := testing.with_spec(
		testing.resource("gateway.networking.k8s.io/v1", "ListenerSet", "infra", "more"),
		{"parentRef": {"name": "public"}, "listeners": [testing.listener("http", 90)]},
	)
	found := v1.outdated.answers with input as {
		"wanted": {"answers": {}},
		"keys": ["gateway.networking.k8s.io/ListenerSet/infra/more"],
		"changes": {"upsert": array.concat(_objects, [listener_set])},
	}
	_gateway in found.objects
}
