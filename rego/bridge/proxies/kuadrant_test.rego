package bridge.proxies.kuadrant_test

import data.bridge.proxies.kuadrant
import data.bridge.testing

# The hash of example|infra/public|infra/public#http|shop/cart|shop/cart#pay|1|*, and that of #rule-2 for the rule without
# a name.
_pay := "d01a53a8d586486d75c1b6bc6428497ee2c8bff0a4a10fd7d5818e8b32695d24"

_second := "036ca7b7f713db267b944d27ef35cf20805087a0d4ce50a185930b9d761429b3"

_users := testing.with_spec(
	testing.resource("kuadrant.io/v1", "AuthPolicy", "shop", "users"),
	{"targetRef": testing.ref("HTTPRoute", "cart")},
)

_manager_type := "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

_listener(name, filters) := {"proxy": "edge", "type": "listener", "updated": "2026-03-01T00:00:00Z", "config": {
	"name": name,
	"filterChains": [{"filters": [{"typedConfig": {"@type": _manager_type, "httpFilters": filters}}]}],
}}

_set(name, sources) := {"name": name, "actions": [{"type": "grpc", "sources": sources}]}

_filter(config) := {"name": "wasm", "typedConfig": {
	"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
	"config": {"configuration": {"value": config}},
}}

_struct(config) := {"name": "wasm", "typedConfig": {
	"@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
	"typeUrl": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
	"value": {"config": {"configuration": {"value": json.marshal(config)}}},
}}

_facts(policies, resources) := facts if {
	facts := kuadrant.facts with input as object.union(testing.changed(policies), {"resources": testing.parts_by_type(resources)})
}

test_sets_of_actions_are_of_rules_and_name_policies if {
	plugin := {"actionSets": [_set(_pay, ["authpolicy.kuadrant.io:shop/users", "planpolicy.kuadrant.io:shop/plans"]), _set(_second, ["ratelimitpolicy.kuadrant.io#shop/few"])]}
	every filter in [_filter(plugin), _struct(plugin)] {
		found := {fact.target: fact | some fact in _facts([_users], [_listener("0.0.0.0_80", [filter])]); fact.target}
		{target: fact.via | some target, fact in found} == {testing.cart_pay: testing.listener_http, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]": testing.listener_http}
		found[testing.cart_pay].names == {
			"kuadrant.io/AuthPolicy": ["kuadrant.io/AuthPolicy/shop/users"],
			"kuadrant.io/RateLimitPolicy": [],
			"kuadrant.io/TokenRateLimitPolicy": [],
		}
		found[testing.cart_pay].needs == ["filter of Kuadrant"]
	}
}

test_each_connection_manager_needs_the_filter if {
	plugin := _filter({"actionSets": []})
	listeners := [
		_listener("0.0.0.0_80", [object.union(plugin, {"disabled": true})]),
		_listener("0.0.0.0_443", []),
		_listener("envoy-gateway-proxy-ready-0.0.0.0-19003", []),
	]
	facts := _facts([_users], listeners)
	{[fact.key, fact.place] | some fact in facts; fact.place} == {
		["connection managers with routes", ["0.0.0.0_80", 0]],
		["connection managers with routes", ["0.0.0.0_443", 0]],
		["filter of Kuadrant", ["0.0.0.0_80", 0]],
	}
	{fact.unknown | some fact in facts; fact.place; fact.unknown} == {["its filter is off at the listener"]}
}

_set_for(predicates, action) := {
	"name": _pay,
	"routeRuleConditions": {"hostnames": ["*"], "predicates": predicates},
	"actions": [object.union({"type": "grpc", "sources": ["authpolicy.kuadrant.io:shop/users"]}, action)],
}

_unknown(set) := fact.unknown if {
	[fact] := [one | some one in _facts([_users], [_listener("0.0.0.0_80", [_filter({"actionSets": [set]})])]); one.target == testing.cart_pay]
}

test_actions_with_other_conditions_than_those_of_the_match_are_unknown if {
	own := _set_for([], {})
	_unknown(own) == []
	_unknown(_set_for(["request.url_path.startsWith('/')"], {})) == []
	every predicate in [
		"request.method == 'POST'", "request.headers.exists(h, h.lowerAscii() == 'x-a')", "source.address == '10.0.0.1'",
		"!request.url_path.startsWith('/')", "request.url_path == '/'", "request.url_path.startsWith('/') && false",
	] {
		_unknown(_set_for([predicate], {})) == ["its actions are for other requests than those of the rule"]
	}
	_unknown(_set_for([], {"conditionalData": [{"data": []}]})) == []
	every action in [
		{"predicate": "request.host == 'a'"}, {"predicates": ["request.host == 'a'"]},
		{"conditionalData": [{"data": []}, {"predicates": ["request.host == 'a'"]}]},
	] {
		_unknown(_set_for([], action)) == ["Policy Bridge doesn't compare the conditions of its actions"]
	}
}

test_actions_of_other_rules_are_not_read if {
	plugin := _filter({"actionSets": [_set("other", [])]})
	{fact.unread | some fact in _facts([_users], [_listener("0.0.0.0_80", [plugin])]); fact.unread} == {"Policy Bridge doesn't know to which rules all actions of Kuadrant's filter belong"}
}

test_filter_that_a_route_turns_off_or_that_another_one_goes_before_is_unknown if {
	plugin := _filter({"actionSets": [_set(_pay, ["authpolicy.kuadrant.io:shop/users"])]})
	code := {"name": "code", "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua"}}
	{text | some fact in _facts([_users], [_listener("0.0.0.0_80", [code, plugin])]); fact.place; some text in fact.unknown} == {"Policy Bridge doesn't know what the filter code does"}
	off := {"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": true}
	every example in [[off, {"Policy Bridge doesn't know the filter envoy.filters.http.wasm of a route"}], [object.remove(off, ["disabled"]), set()]] {
		route := {"proxy": "edge", "type": "route", "config": {"typedPerFilterConfig": {"envoy.filters.http.wasm": example[0]}}}
		facts := _facts([_users], [_listener("0.0.0.0_80", [plugin]), route])
		{text | some fact in facts; fact.key == "filters of routes"; some text in fact.unknown} == example[1]
		{key | some fact in facts; fact.target; some key in fact.refers} == {"filter of Kuadrant", "filters of routes"}
	}
}

test_gateways_of_istio_should_have_the_filter_if_policies_exist if {
	bootstrap := {"proxy": "edge", "type": "bootstrap", "config": {"node": {"metadata": {
		"ISTIO_VERSION": "1.31.0",
		"NAMESPACE": "infra",
		"LABELS": {"gateway.networking.k8s.io/gateway-name": "public"},
	}}}}
	_facts([_users], [bootstrap]) == {{"vendor": "Kuadrant", "proxy": "edge", "covers": "gateway.networking.k8s.io/Gateway/infra/public"}}
	_facts([], [bootstrap]) == set()
}
