package bridge.proxies.kgateway_test

import data.bridge.proxies.kgateway
import data.bridge.testing

_policy := "gateway.kgateway.dev/TrafficPolicy"

_merged := "merge.TrafficPolicy.gateway.kgateway.dev"

_facts(resources) := facts if {
	read := kgateway.facts with input as object.union(testing.changed([]), {"resources": testing.parts_by_type(resources)})
	facts := {testing.with_about(fact) | some fact in read}
}

_fact(resource) := fact if {
	[fact] := [one | some one in _facts([resource])]
}

_part(type, config) := {"proxy": "edge", "type": type, "config": config, "updated": "2026-03-01T00:00:00Z"}

_in_host(type, config) := object.union(_part(type, config), {"routeConfig": "listener~80", "virtualHost": "listener~80~all", "order": ["listener~80", "listener~80~all", 0]})

_origins(fields) := {"metadata": {"filterMetadata": {_merged: fields}}}

test_role_of_the_node_names_the_gateway_and_its_listeners if {
	_facts([_part("bootstrap", {"node": {"metadata": {"role": "kgateway-kube-gateway-api~infra~public"}}})]) == {
		{"vendor": "kgateway", "proxy": "edge", "covers": "gateway.networking.k8s.io/Gateway/infra/public"},
		{"vendor": "kgateway", "proxy": "edge", "key": "listener listener~80", "via": testing.listener_http},
		{"vendor": "kgateway", "proxy": "edge", "key": "listener listener~8080", "via": "gateway.networking.k8s.io/Gateway/infra/public#alt"},
	}
	_facts([_part("bootstrap", {"node": {"metadata": {"role": "other~infra~public"}}})]) == set()
}

test_routes_name_their_rules_and_the_policies_of_fields if {
	source := {"kind": "HTTPRoute", "namespace": "shop", "name": "cart", "rule": "pay"}
	fact := _fact(_in_host("route", {
		"match": {"path": "/pay"},
		"metadata": {"filterMetadata": {"dev.kgateway.route_source": source, _merged: {"retry": ["gateway.kgateway.dev/TrafficPolicy/shop/pay"]}}},
		"route": {"cluster": "one", "timeout": "5s", "retryPolicy": {"numRetries": 2, "retryOn": "reset,retriable-status-codes", "retriableStatusCodes": [503]}},
	}))
	fact.target == testing.cart_pay
	fact.match == [["path", "", "Exact", "/pay"]]
	fact.within == ["virtual host listener~80 listener~80~all", "routes listener~80", "listener listener~80"]
	fact.origins == {_policy: {"retry": ["gateway.kgateway.dev/TrafficPolicy/shop/pay"]}}
	fact.values == {_policy: {
		"/timeouts/request": "5s",
		"/timeouts/streamIdle": null,
		"/retry/attempts": 2,
		"/retry/retryOn": ["reset"],
		"/retry/perTryTimeout": null,
		"/retry/statusCodes": [503],
	}}
	fact.unknown == []
}

test_rule_without_a_name_has_its_place_and_calls_have_no_match if {
	source := {"kind": "GRPCRoute", "namespace": "shop", "name": "calls", "rule": "_rule-1"}
	fact := _fact(_in_host("route", {"metadata": {"filterMetadata": {"dev.kgateway.route_source": source}}, "directResponse": {"status": 500}}))
	fact.target == "gateway.networking.k8s.io/GRPCRoute/shop/calls#[1]"
	not "match" in object.keys(fact)
	fact.values == {_policy: {}}
	fact.unknown == ["the proxy answers the requests of this rule itself"]
	_fact(_in_host("route", {})).unread == "routes of this version of kgateway do not name their rules"
}

_typed(kind) := {"@type": sprintf("type.googleapis.com/envoy.extensions.filters.http.%s.v3.Any", [kind])}

test_filter_that_the_rules_do_not_know_is_named_wherever_it_is if {
	source := {"kind": "HTTPRoute", "namespace": "shop", "name": "cart", "rule": "pay"}
	off := {"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": true}
	on := object.remove(off, ["disabled"])
	every example in [[_typed("lua"), true], [off, true], [_typed("cors"), false], [_typed("fault"), false], [on, false]] {
		[config, is_unknown] := example
		expected := ["Policy Bridge doesn't know what the filter one does" | is_unknown]
		configs := {"typedPerFilterConfig": {"one": config}}
		of_route := {"match": {"path": "/pay"}, "metadata": {"filterMetadata": {"dev.kgateway.route_source": source}}}
		_fact(_in_host("route", object.union(of_route, object.union(configs, {"route": {"cluster": "one"}})))).unknown == expected
		_fact(_in_host("route", object.union(of_route, {"route": {"weightedClusters": {"clusters": [configs]}}}))).unknown == expected
		_fact(_in_host("virtualHost", object.union(configs, {"name": "listener~80~all"}))).unknown == expected
		_fact(_part("routes", object.union(configs, {"name": "listener~80", "ignorePortInHostMatching": true}))).unknown == expected
	}
	manager := {"typedConfig": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"rds": {"routeConfigName": "listener~80"},
		"httpFilters": [{"name": "one", "typedConfig": _typed("lua")}, {"name": "two"}, {"name": "three", "typedConfig": _typed("router")}],
	}}
	_fact(_part("listener", {"name": "listener~80", "filterChains": [{"filters": [manager]}]})).unknown == [
		"Policy Bridge doesn't know what the filter one does",
		"Policy Bridge doesn't know what the filter two does",
	]
}

_composed(filters) := {
	"@type": "type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
	"extensionConfig": {"typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite"}},
	"xdsMatcher": {"matcherList": {"matchers": [{"onMatch": {"action": {"typedConfig": {"typedConfig": {"typedConfig": filter}}}}} | some filter in filters]}},
}

test_filter_that_another_one_turns_off_is_known_by_the_filters_within if {
	every example in [[[_typed("jwt_authn")], false], [[_typed("ext_proc")], false], [[_typed("jwt_authn"), _typed("lua")], true], [[], true]] {
		[filters, is_unknown] := example
		routes := _part("routes", {"name": "listener~80", "ignorePortInHostMatching": true, "typedPerFilterConfig": {"one": _composed(filters)}})
		_fact(routes).unknown == ["Policy Bridge doesn't know what the filter one does" | is_unknown]
	}
}

test_route_of_no_rule_states_its_place if {
	_fact(_in_host("route", {})).order == ["listener~80", "listener~80~all", 0]
}

test_hosts_and_routes_name_the_policies_of_listeners_and_gateways if {
	config := object.union(_origins({"timeouts": ["gateway.kgateway.dev/TrafficPolicy/infra/all"]}), {"typedPerFilterConfig": {}})
	routes := _fact(_part("routes", object.union(config, {"name": "listener~80", "ignorePortInHostMatching": true})))
	[routes.key, routes.origins, routes.unknown] == ["routes listener~80", {_policy: {"timeouts": ["gateway.kgateway.dev/TrafficPolicy/infra/all"]}}, []]
	host := _fact(_in_host("virtualHost", object.union(config, {"name": "listener~80~all", "domains": ["A.example.com"], "requireTls": "ALL"})))
	[host.hosts, host.unknown] == [["a.example.com"], ["Policy Bridge doesn't know requireTls of the virtual host"]]
	_facts([_part("routes", {"name": "infra/public/http"})]) == set()
	other := _fact(_in_host("virtualHost", {"name": "other"}))
	[other.key, other.unknown] == ["routes listener~80", ["Policy Bridge doesn't know the virtual host other"]]
}

test_managers_are_those_of_routes if {
	manager := {"typedConfig": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"rds": {"routeConfigName": "https"},
	}}
	fact := _fact(_part("listener", {"name": "listener~443", "filterChains": [{"filterChainMatch": {"destinationPort": 1}, "filters": [manager]}]}))
	[fact.key, fact.unknown] == ["connection manager https", ["Policy Bridge doesn't know which connections get its filter chain"]]
	other := {"filterChainMatch": {"sourcePrefixRanges": [{"addressPrefix": "10.0.0.0"}]}, "filters": []}
	beside := _fact(_part("listener", {"name": "listener~443", "filterChains": [{"filters": [manager]}, other]}))
	beside.unknown == fact.unknown
}

test_listener_at_another_port_and_hosts_with_a_port_are_unknown if {
	manager := {"typedConfig": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"rds": {"routeConfigName": "listener~80"},
	}}
	every port, unknown in {80: [], 8080: [], 81: ["its listener has port 81, not that of the Gateway"]} {
		listener := {"name": "listener~80", "address": {"socketAddress": {"portValue": port}}, "filterChains": [{"filters": [manager]}]}
		_fact(_part("listener", listener)).unknown == unknown
	}
	_fact(_part("routes", {"name": "listener~80"})).unknown == ["Policy Bridge doesn't know which requests with a port in their host it takes"]
}
