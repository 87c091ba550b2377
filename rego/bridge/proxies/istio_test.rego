package bridge.proxies.istio_test

import data.bridge.proxies.istio
import data.bridge.testing

_public := "gateway.networking.k8s.io/Gateway/shop/public"

_ap := "security.istio.io/AuthorizationPolicy"

_ra := "security.istio.io/RequestAuthentication"

_facts(resources) := facts if {
	facts := istio.facts with input as {"resources": testing.parts_by_type(resources)}
}

_part(type, config) := {"proxy": "edge", "type": type, "config": config, "updated": "2026-03-01T00:00:00Z"}

_bootstrap := _part("bootstrap", {"node": {"metadata": {
	"ISTIO_VERSION": "1.31.0",
	"NAMESPACE": "shop",
	"LABELS": {"gateway.networking.k8s.io/gateway-name": "public", "gateway.networking.k8s.io/gateway-class-name": "istio"},
}}})

_chain(name, filters) := {"name": name, "filters": [{"typedConfig": {
	"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
	"httpFilters": filters,
}}]}

_rbac(config) := {"name": "envoy.filters.http.rbac", "typedConfig": object.union({"@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC"}, config)}

_jwt(config) := {"name": "envoy.filters.http.jwt_authn", "typedConfig": object.union({"@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"}, config)}

_listener(filters) := _part("listener", {"name": "0.0.0.0_80", "filterChains": [_chain("", filters)]})

# The only fact of a listener with these filters.
_chain_fact(filters) := fact if {
	[fact] := [one | some one in _facts([_listener(filters)])]
}

_any := {"permissions": [{"andRules": {"rules": [{"any": true}]}}], "principals": [{"andIds": {"ids": [{"any": true}]}}]}

_to(rules) := object.union(_any, {"permissions": [{"andRules": {"rules": rules}}]})

_from(ids) := object.union(_any, {"principals": [{"andIds": {"ids": ids}}]})

_values_of(config) := _chain_fact([_rbac({"rules": {"policies": {"ns[shop]-policy[one]-rule[0]": config}}})]).values["security.istio.io/AuthorizationPolicy/shop/one"]

test_labels_of_the_node_name_the_gateway_and_its_class if {
	_facts([_bootstrap]) == {
		{"vendor": "Istio", "proxy": "edge", "target": _public, "via": _public, "covers": _public, "refers": ["connection managers", "node", "filters of routes"]},
		{
			"vendor": "Istio",
			"proxy": "edge",
			"target": "gateway.networking.k8s.io/GatewayClass/-/istio",
			"via": "gateway.networking.k8s.io/GatewayClass/-/istio",
			"covers": "gateway.networking.k8s.io/GatewayClass/-/istio",
			"refers": ["connection managers", "node", "filters of routes"],
		},
		{"vendor": "Istio", "proxy": "edge", "key": "filters of routes", "unknown": []},
		{"vendor": "Istio", "proxy": "edge", "key": "node", "beside": [_public, "gateway.networking.k8s.io/GatewayClass/-/istio"]},
	}
}

test_node_of_another_implementation_is_not_a_target if {
	_facts([_part("bootstrap", {"node": {"metadata": {"NAMESPACE": "shop", "LABELS": {"gateway.networking.k8s.io/gateway-name": "public"}}}})]) == set()
}

test_filters_name_policies_and_their_actions if {
	fact := _chain_fact([
		_rbac({"rules": {"action": "LOG", "policies": {"ns[shop]-policy[seen]-rule[0]": _any}}}),
		_rbac({"rules": {"action": "DENY", "policies": {"ns[istio-system]-policy[mesh]-rule[0]": _any}}}),
		_rbac({"rules": {"policies": {"ns[shop]-policy[open]-rule[0]": _any}}, "shadowRules": {"policies": {"ns[shop]-policy[tried]-rule[0]": _any}}}),
		_asking,
		_ext_authz({"filterEnabledMetadata": _matched_by("istio_ext_authz_", {"prefix": "istio-ext-authz-asked"})}),
	])
	{policy: values["/action"] | some policy, values in fact.values; policy != _ra} == {
		"security.istio.io/AuthorizationPolicy/shop/seen": "AUDIT",
		"security.istio.io/AuthorizationPolicy/istio-system/mesh": "DENY",
		"security.istio.io/AuthorizationPolicy/shop/open": "ALLOW",
		"security.istio.io/AuthorizationPolicy/shop/asked": "CUSTOM",
	}
	{name | some name in fact.names[_ap]} == {policy | some policy, _ in fact.values} - {_ra}
}

_ext_authz(config) := {"name": "envoy.filters.http.ext_authz", "typedConfig": object.union({"@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz"}, config)}

# Rules whose matches a later filter asks a provider about.
_asking := _rbac({"shadowRulesStatPrefix": "istio_ext_authz_", "shadowRules": {"action": "DENY", "policies": {"istio-ext-authz-asked-ns[shop]-policy[asked]-rule[0]": _any}}})

# What turns the filter on: the policy that rules in shadow match.
_matched_by(prefix, match) := {"filter": "envoy.filters.http.rbac", "path": [{"key": sprintf("%sshadow_effective_policy_id", [prefix])}], "value": {"stringMatch": match}}

test_policy_that_asks_a_provider_needs_a_later_filter_that_does if {
	every filters in [
		[_asking],
		[_ext_authz({}), _asking],
		[_asking, object.union(_ext_authz({}), {"disabled": true})],
		[_asking, _ext_authz({"filterEnabled": {"defaultValue": {"numerator": 0}}})],
		[_asking, _ext_authz({"filterEnabledMetadata": _matched_by("istio_ext_authz_", {"prefix": "istio-ext-authz-other"})})],
		[_asking, _ext_authz({"filterEnabledMetadata": _matched_by("other_", {"prefix": "istio-ext-authz"})})],
		[_asking, _ext_authz({"filterEnabledMetadata": _matched_by("istio_ext_authz_", {"exact": "istio-ext-authz-asked"})})],
		[_asking, _ext_authz({"filterEnabledMetadata": object.union(_matched_by("istio_ext_authz_", {"prefix": "istio-ext-authz"}), {"invert": true})})],
	] {
		_chain_fact(filters).names == {_ap: []}
	}
	_chain_fact([_asking, _ext_authz({})]).names == {_ap: ["security.istio.io/AuthorizationPolicy/shop/asked"]}
}

test_policy_in_filters_of_two_actions_states_both if {
	filters := [_rbac({"rules": {"action": action, "policies": {"ns[shop]-policy[one]-rule[0]": _any}}}) | some action in ["ALLOW", "DENY"]]
	_chain_fact(filters).values["security.istio.io/AuthorizationPolicy/shop/one"]["/action"] == ["ALLOW", "DENY"]
}

test_disabled_filter_names_no_policy if {
	_chain_fact([object.union(_rbac({"rules": {"policies": {"ns[shop]-policy[one]-rule[0]": _any}}}), {"disabled": true})]).names == {_ap: []}
}

test_operations_are_read_as_the_policy_has_them if {
	rules := [
		{"orRules": {"rules": [{"header": {"name": ":authority", "stringMatch": {"suffix": ".example.com", "ignoreCase": true}}}]}},
		{"orRules": {"rules": [{"header": {"name": ":method", "stringMatch": {"exact": "GET"}}}, {"header": {"name": ":method", "presentMatch": true}}]}},
		{"orRules": {"rules": [{"urlPath": {"path": {"prefix": "/cart/"}}}]}},
		{"notRule": {"orRules": {"rules": [{"destinationPort": 8080}]}}},
	]
	_values_of(_to(rules))["/rules"] == [{"to": [{"operation": {
		"hosts": ["*.example.com"],
		"methods": ["GET", "*"],
		"paths": ["/cart/*"],
		"notPorts": ["8080"],
	}}]}]
}

test_sources_are_read_if_they_are_namespaces if {
	id := {"orIds": {"ids": [{"authenticated": {"principalName": {"safeRegex": {"regex": ".*/ns/bank/.*"}}}}]}}
	state := {"orIds": {"ids": [{"filterState": {"key": "io.istio.peer_principal", "stringMatch": {"safeRegex": {"regex": ".*/ns/bank/.*"}}}}]}}
	_values_of(_from([id]))["/rules"] == [{"from": [{"source": {"namespaces": ["bank"]}}]}]
	_values_of(_from([state]))["/rules"] == [{"from": [{"source": {"namespaces": ["bank"]}}]}]
	_values_of(_from([{"notId": id}]))["/rules"] == [{"from": [{"source": {"notNamespaces": ["bank"]}}]}]
}

_unread_rules := {"/action": "ALLOW", "/rules": {"unread": true}}

test_rules_of_another_form_are_not_read if {
	every config in [
		_from([{"orIds": {"ids": [{"directRemoteIp": {"addressPrefix": "192.0.2.0", "prefixLen": 24}}]}}]),
		_to([{"orRules": {"rules": [{"requestedServerName": {"exact": "a"}}]}}]),
		object.union(_any, {"condition": {}}),
		_to([{"orRules": {"rules": [{"urlPath": {"path": {"exact": path}}}]}} | some path in ["/one", "/two"]]),
	] {
		_values_of(config) == _unread_rules
	}
}

test_rules_with_a_gap_are_not_read if {
	config := {"rules": {"policies": {"ns[shop]-policy[one]-rule[1]": _any}}}
	_chain_fact([_rbac(config)]).values["security.istio.io/AuthorizationPolicy/shop/one"] == _unread_rules
}

test_rule_that_never_matches_is_none if {
	_values_of({"permissions": [{"notRule": {"any": true}}], "principals": [{"notId": {"any": true}}]})["/rules"] == []
}

_one_of(name) := {"requiresAny": {"requirements": [{"providerName": name}, {"allowMissing": {}}]}}

_requires(requirement) := [{"match": {"prefix": "/"}, "requires": requirement}]

test_providers_that_the_filter_asks_for_are_rules if {
	one := {"origins-0": {"issuer": "https://one.example.com", "audiences": ["shop"], "forward": true}}
	two := object.union(one, {"origins-1": {"issuer": "https://two.example.com"}})
	both := {"requiresAny": {"requirements": [
		{"providerName": "origins-0"},
		{"providerName": "origins-1"},
		{"requiresAll": {"requirements": [_one_of("origins-0"), _one_of("origins-1")]}},
	]}}
	first := {"issuer": "https://one.example.com", "audiences": ["shop"], "forwardOriginalToken": true}
	_chain_fact([_jwt({"providers": one, "rules": _requires(_one_of("origins-0"))})]).values[_ra] == {"/jwtRules": [first]}
	_chain_fact([_jwt({"providers": two, "rules": _requires(both)})]).values[_ra] == {"/jwtRules": [first, {"issuer": "https://two.example.com"}]}
	_chain_fact([_jwt({"providers": two, "rules": _requires(_one_of("origins-0"))})]).values[_ra] == {"/jwtRules": []}
	_chain_fact([_jwt({"providers": one, "rules": _requires({"allowMissingOrFailed": {}})})]).values[_ra] == {"/jwtRules": []}
}

test_chains_of_a_waypoint_are_of_services if {
	chains := [
		_chain("inbound-vip|80|http|cart.shop.svc.cluster.local", [_rbac({"rules": {"policies": {"ns[shop]-policy[one]-rule[0]": _any}}})]),
		_chain("direct-http", [_rbac({"rules": {"policies": {}}})]),
		{"name": "direct-tcp", "filters": [_rbac({})]},
	]
	facts := _facts([
		_part("listener", {"name": "main_internal", "filterChains": chains}),
		_part("listener", {"name": "connect_terminate", "filterChains": [_chain("default", [{"name": "router"}])]}),
	])
	cart := "core/Service/shop/cart"
	{[fact.key, fact.place] | some fact in facts; fact.key} == {["connection managers", 0], ["connection managers", 1], [sprintf("filter chains of %s", [cart]), 0]}
	{fact.target: fact.refers | some fact in facts; fact.target} == {cart: [sprintf("filter chains of %s", [cart]), "node", "filters of routes"]}
	{service | some fact in facts; some service in fact.beside} == {cart}
}

# What Policy Bridge doesn't know of a chain with these filters.
_unknown_of(filters) := _chain_fact(filters).unknown

test_policies_of_other_names_and_settings_of_filters_are_unknown if {
	own := {"ns[shop]-policy[one]-rule[0]": _any}
	_unknown_of([_rbac({"rules": {"policies": own}})]) == []
	_unknown_of([_rbac({"rules": {"policies": object.union(own, {"everyone": _any})}})]) == ["Policy Bridge doesn't know the policy everyone"]
	_unknown_of([_rbac({"rules": {"policies": own}, "matcher": {}})]) == ["Policy Bridge doesn't know matcher of the filter for authorization"]
}

test_filters_that_have_messages_of_the_same_name_are_told_apart if {
	own := _rbac({"rules": {"policies": {"ns[shop]-policy[one]-rule[0]": _any}}})
	every example in [
		["envoy.extensions.filters.http.golang.v3alpha.Config", true],
		["envoy.extensions.filters.http.aws_lambda.v3.Config", true],
		["io.istio.http.peer_metadata.Config", false],
		["istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig", false],
		["envoy.extensions.filters.http.grpc_stats.v3.FilterConfig", false],
		["envoy.extensions.filters.http.set_filter_state.v3.Config", false],
		["stats.PluginConfig", false],
	] {
		filter := {"name": "one", "typedConfig": {"@type": sprintf("type.googleapis.com/%s", [example[0]])}}
		_unknown_of([filter, own]) == ["Policy Bridge doesn't know what the filter one does" | example[1]]
	}
}

test_filter_without_its_configuration_in_the_dump_is_unknown if {
	filters := [{"name": "discovered", "configDiscovery": {}}, _rbac({"rules": {"policies": {"ns[shop]-policy[one]-rule[0]": _any}}})]
	_unknown_of(filters) == ["Policy Bridge doesn't know what the filter discovered does"]
}

test_settings_of_a_manager_that_skip_its_filters_are_unknown if {
	manager := {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"upgradeConfigs": [{"upgradeType": "websocket", "filters": []}],
	}
	listener := _part("listener", {"name": "0.0.0.0_80", "filterChains": [{"filters": [{"typedConfig": manager}]}]})
	{fact.unknown | some fact in _facts([listener])} == {["Policy Bridge doesn't know filters of the upgrade"]}
}

test_filters_of_routes_that_change_policies_are_unknown if {
	every name, type in {"envoy.filters.http.rbac": "rbac.v3.RBACPerRoute", "envoy.filters.http.ext_authz": "ext_authz.v3.ExtAuthzPerRoute"} {
		config := {"typedPerFilterConfig": {
			name: {"@type": sprintf("type.googleapis.com/envoy.extensions.filters.http.%s", [type])},
			"envoy.filters.http.cors": {"@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy"},
		}}
		unknown := [sprintf("Policy Bridge doesn't know the filter %s of a route", [name])]
		every resource in [_part("route", config), _part("virtualHost", config), _part("route", {"route": {"weightedClusters": {"clusters": [config]}}})] {
			{[fact.key, fact.unknown] | some fact in _facts([resource])} == {["filters of routes", unknown]}
		}
	}
	_facts([_part("route", {})]) == set()
}

test_texts_are_compared_with_their_case if {
	path := [{"orRules": {"rules": [{"urlPath": {"path": {"exact": "/cart", "ignoreCase": true}}}]}}]
	method := [{"orRules": {"rules": [{"header": {"name": ":method", "stringMatch": {"exact": "get", "ignoreCase": true}}}]}}]
	two := [{"orRules": {"rules": [{"urlPath": {"path": {"exact": "/cart", "prefix": "/"}}}]}}]
	every rules in [path, method, two] {
		_values_of(_to(rules)) == _unread_rules
	}
}
