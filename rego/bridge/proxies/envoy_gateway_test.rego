package bridge.proxies.envoy_gateway_test

import data.bridge.proxies.envoy_gateway
import data.bridge.testing

_routes := "infra/public/http"

_host := "infra/public/http/all"

_received := "2026-03-01T00:00:00Z"

_btp := "gateway.envoyproxy.io/BackendTrafficPolicy"

_sp := "gateway.envoyproxy.io/SecurityPolicy"

_eep := "gateway.envoyproxy.io/EnvoyExtensionPolicy"

_ctp := "gateway.envoyproxy.io/ClientTrafficPolicy"

_facts(resources) := facts if {
	read := envoy_gateway.facts with input.resources as testing.parts_by_type(resources)
	facts := {testing.with_about(fact) | some fact in read}
}

_part(type, config) := {"proxy": "edge", "type": type, "config": config, "updated": _received}

_own(about) := {"filterMetadata": {"envoy-gateway": about}}

_rule := {"kind": "HTTPRoute", "namespace": "shop", "name": "cart", "sectionName": "pay"}

_named_route(fields) := object.union(
	_part("route", object.union(
		{"name": "httproute/shop/cart/rule/0/match/0/all", "metadata": _own({"resources": [_rule]})},
		fields,
	)),
	{"routeConfig": _routes, "virtualHost": _host, "order": [_routes, _host, 0]},
)

# The only fact of a route with these fields.
_route_fact(fields) := fact if {
	[fact] := [one | some one in _facts([_named_route(fields)])]
}

_filter_values(kind, name, config) := _route_fact({"typedPerFilterConfig": {name: _typed(name, config)}}).values[kind]

# A configuration of a filter for a route, of the type that Envoy Gateway gives it.
_typed(name, config) := object.union({"@type": sprintf("type.googleapis.com/envoy.extensions.filters.http.v3.%s", [type])}, config) if {
	type := {"cors": "CorsPolicy", "local_ratelimit": "LocalRateLimit", "ratelimit": "RateLimitPerRoute", "rbac": "RBACPerRoute", "jwt_authn": "PerRouteConfig", "fault": "HTTPFault"}[trim_prefix(name, "envoy.filters.http.")]
}

test_virtual_host_is_a_target_that_refers_to_the_manager_of_its_routes if {
	metadata := _own({"resources": [{"kind": "Gateway", "namespace": "infra", "name": "public", "sectionName": "http"}]})
	host := object.union(_part("virtualHost", {"name": _host, "domains": ["Shop.example.com", "*:*"], "metadata": metadata}), {"routeConfig": _routes, "virtualHost": _host})
	_facts([host]) == {{
		"vendor": "Envoy Gateway",
		"proxy": "edge",
		"key": "virtual host infra/public/http infra/public/http/all",
		"target": testing.listener_http,
		"via": testing.listener_http,
		"covers": "gateway.networking.k8s.io/Gateway/infra/public",
		"hosts": ["shop.example.com", "*"],
		"refers": ["connection manager infra/public/http"],
		"unknown": [],
	}}
}

test_routes_of_a_listener_say_when_the_proxy_received_them if {
	_facts([_part("routes", {"name": _routes, "ignorePortInHostMatching": true})]) == {{
		"vendor": "Envoy Gateway",
		"proxy": "edge",
		"key": "routes infra/public/http",
		"updated": _received,
		"unknown": [],
	}}
	_facts([_part("routes", {"name": "http.80"})]) == set()
}

test_hosts_with_a_port_are_unknown_if_the_proxy_tells_them_apart if {
	every config in [{"name": _routes}, {"name": _routes, "ignorePortInHostMatching": false}] {
		{text | some fact in _facts([_part("routes", config)]); some text in fact.unknown} == {"Policy Bridge doesn't know which requests with a port in their host it takes"}
	}
}

test_route_states_its_timeouts_upgrades_and_retries if {
	fact := _route_fact({"route": {
		"cluster": "httproute/shop/cart/rule/0",
		"timeout": "15s",
		"idleTimeout": "30s",
		"maxStreamDuration": {"maxStreamDuration": "60s"},
		"upgradeConfigs": [{"upgradeType": "websocket"}, {"upgradeType": "spdy/3.1", "enabled": false}],
		"retryPolicy": {
			"numRetries": 2,
			"perTryTimeout": "1s",
			"retryBackOff": {"baseInterval": "0.1s", "maxInterval": "2s"},
			"retryOn": "reset,retriable-status-codes",
			"retriableStatusCodes": [502],
		},
	}})
	fact.target == testing.cart_pay
	fact.name == "httproute/shop/cart/rule/0/match/0/all"
	fact.within == ["virtual host infra/public/http infra/public/http/all", "routes infra/public/http"]
	fact.refers == ["cluster httproute/shop/cart/rule/0"]
	fact.names == {_btp: []}
	object.filter(fact.values[_btp], [pointer | some pointer, _ in fact.values[_btp]; not startswith(pointer, "/rateLimit")]) == {
		"/timeout/http/requestTimeout": "15s",
		"/timeout/http/streamIdleTimeout": "30s",
		"/timeout/http/maxStreamDuration": "60s",
		"/httpUpgrade": [{"type": "websocket"}],
		"/retry/numRetries": 2,
		"/retry/perRetry/timeout": "1s",
		"/retry/perRetry/backOff/baseInterval": "0.1s",
		"/retry/perRetry/backOff/maxInterval": "2s",
		"/retry/retryOn/triggers": ["reset", "retriable-status-codes"],
		"/retry/retryOn/httpStatusCodes": [502],
		"/faultInjection": null,
		"/requestBuffer": null,
	}
}

test_route_to_a_backend_without_settings_has_none if {
	values := _route_fact({"route": {"cluster": "one"}}).values[_btp]
	values["/timeout/http/requestTimeout"] == null
	values["/retry/numRetries"] == null
	values["/retry/retryOn/triggers"] == []
	values["/httpUpgrade"] == []
}

test_route_that_answers_by_itself_states_no_timeout if {
	fact := _route_fact({"redirect": {"hostRedirect": "www.example.com"}})
	not "/timeout/http/requestTimeout" in object.keys(fact.values[_btp])
	fact.refers == []
}

test_route_refers_to_each_cluster_of_a_split if {
	fact := _route_fact({"route": {"weightedClusters": {"clusters": [{"name": "old", "weight": 9}, {"name": "new", "weight": 1}]}}})
	fact.refers == ["cluster old", "cluster new"]
}

test_rule_without_a_name_is_named_by_its_place if {
	metadata := _own({"resources": [object.remove(_rule, ["sectionName"])]})
	routes := [object.union(_part("route", {"name": name, "metadata": metadata}), {"routeConfig": _routes, "virtualHost": _host, "order": [_routes, _host, 0]}) |
		some name in ["httproute/shop/cart/rule/1/match/0/all", "of-another-form"]
	]
	{fact.name: fact.target | some fact in _facts(routes)} == {
		"httproute/shop/cart/rule/1/match/0/all": "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]",
		"of-another-form": testing.cart_route,
	}
}

test_route_names_its_policies_in_its_metadata_and_its_filters if {
	policies := [
		{"kind": "BackendTrafficPolicy", "namespace": "shop", "name": "limits"},
		{"kind": "OtherPolicy", "namespace": "shop", "name": "other"},
	]
	fact := _route_fact({
		"metadata": _own({"resources": [_rule], "policies": policies}),
		"typedPerFilterConfig": {
			"envoy.filters.http.ext_authz/securitypolicy/shop/checks": {},
			"envoy.filters.http.lua/envoyextensionpolicy/shop/script/lua/0": {},
			"envoy.filters.http.oauth2/securitypolicy/shop/former": {"disabled": true},
			"envoy.filters.http.cors": {},
		},
	})
	fact.names == {
		_btp: ["gateway.envoyproxy.io/BackendTrafficPolicy/shop/limits"],
		_sp: ["gateway.envoyproxy.io/SecurityPolicy/shop/checks"],
		_eep: ["gateway.envoyproxy.io/EnvoyExtensionPolicy/shop/script"],
	}
}

test_route_requires_the_filters_of_its_listener if {
	fact := _route_fact({"typedPerFilterConfig": {
		"envoy.filters.http.ext_authz/securitypolicy/shop/checks": {},
		"envoy.filters.http.jwt_authn": _typed("jwt_authn", {"requirementName": "users"}),
		"envoy.filters.http.fault": _typed("fault", {"abort": {}}),
		"envoy.filters.http.oauth2/securitypolicy/shop/former": {"disabled": true},
	}})
	{[part, needed] | some parts in fact.requires; some part, keys in parts; some needed in keys} == {
		["/extAuth", "filter infra/public/http envoy.filters.http.ext_authz/securitypolicy/shop/checks"],
		["/jwt", "filter infra/public/http envoy.filters.http.jwt_authn"],
		["/faultInjection", "filter infra/public/http envoy.filters.http.fault"],
	}
	{key | some key in fact.refers} == {
		"filter infra/public/http envoy.filters.http.ext_authz/securitypolicy/shop/checks",
		"filter infra/public/http envoy.filters.http.jwt_authn",
		"filter infra/public/http envoy.filters.http.fault",
		"requirement infra/public/http users",
	}
	object.filter(fact.values[_sp], ["/extAuth", "/jwt", "/oidc"]) == {"/extAuth": true, "/jwt": true, "/oidc": null}
	fact.values[_btp]["/faultInjection"] == true
	fact.values[_eep] == {"/extProc": null, "/wasm": null, "/lua": []}
}

_all_requests := {"defaultValue": {"numerator": 100}}

_local(fields) := object.union({"filterEnabled": _all_requests, "filterEnforced": _all_requests}, fields)

_bucket(number, interval) := {"maxTokens": number, "tokensPerFill": number, "fillInterval": interval}

_limits(config) := _filter_values(_btp, "envoy.filters.http.local_ratelimit", config)

test_limits_are_those_of_all_requests_and_of_clients if {
	config := _local({
		"tokenBucket": _bucket(5, "60s"),
		"descriptors": [
			{"tokenBucket": {"maxTokens": 1, "fillInterval": "1s"}},
			{"tokenBucket": _bucket(4294967295, "1s")},
		],
	})
	object.filter(_limits(config), ["/rateLimit/type", "/rateLimit/local", "/rateLimit/global", "/rateLimit/local/rules"]) == {
		"/rateLimit/type": "Local",
		"/rateLimit/local": true,
		"/rateLimit/global": null,
		"/rateLimit/local/rules": [
			{"limit": {"requests": 5, "unit": "Minute"}},
			{"limit": {"requests": 1, "unit": "Second"}, "clientSelectors": null},
			{"limit": {"requests": 4294967295, "unit": "Second"}, "clientSelectors": null},
		],
	}
}

test_limit_that_is_not_enforced_for_all_requests_is_none if {
	bucket := {"tokenBucket": _bucket(5, "60s")}
	_limits(_local(bucket))["/rateLimit/local/rules"] != null
	every config in [
		bucket,
		_local(object.union(bucket, {"filterEnforced": {"defaultValue": {"numerator": 50}}})),
		_local(object.union(bucket, {"filterEnabled": {"defaultValue": {"numerator": 100, "denominator": "MILLION"}}})),
		_local({"tokenBucket": {"maxTokens": 5, "tokensPerFill": 1, "fillInterval": "60s"}}),
		_local({"tokenBucket": _bucket(5, "7s")}),
	] {
		_limits(config)["/rateLimit/local/rules"] == null
	}
}

test_global_limit_is_only_known_to_be_there if {
	values := _filter_values(_btp, "envoy.filters.http.ratelimit", {})
	values["/rateLimit/type"] == "Global"
	values["/rateLimit/global"] == true
	values["/rateLimit/local/rules"] == null
	both := _route_fact({"typedPerFilterConfig": {name: _typed(name, {}) | some name in ["envoy.filters.http.ratelimit", "envoy.filters.http.local_ratelimit"]}})
	not "/rateLimit/type" in object.keys(both.values[_btp])
}

_cors(config) := _filter_values(_sp, "envoy.filters.http.cors", config)

test_cors_is_read_in_the_form_of_a_policy if {
	values := _cors({
		"allowOriginStringMatch": [
			{"exact": "https://a.example.com"},
			{"safeRegex": {"regex": `https://.*\.example\.com`}},
			{"safeRegex": {"regex": `https://[ab]\.example.com`}},
		],
		"allowMethods": "GET, POST",
		"allowHeaders": "X-Trace",
		"maxAge": "600",
		"allowCredentials": true,
	})
	object.filter(values, [pointer | some pointer, _ in values; startswith(pointer, "/cors")]) == {
		"/cors": true,
		"/cors/allowOrigins": [
			"https://a.example.com",
			"https://*.example.com",
			{"safeRegex": {"regex": `https://[ab]\.example.com`}},
		],
		"/cors/allowMethods": ["GET", "POST"],
		"/cors/allowHeaders": ["X-Trace"],
		"/cors/exposeHeaders": [],
		"/cors/maxAge": "600s",
		"/cors/allowCredentials": true,
	}
	bare := _cors({})
	bare["/cors/maxAge"] == null
	bare["/cors/allowCredentials"] == false
}

test_cors_for_a_part_of_the_requests_is_not_read if {
	every field in ["filterEnabled", "shadowEnabled"] {
		not "/cors/allowOrigins" in object.keys(_cors({"allowOriginStringMatch": [{"exact": "https://a"}], field: _all_requests}))
	}
}

test_authorization_is_read_with_its_default if {
	values := _filter_values(_sp, "envoy.filters.http.rbac", {"rbac": {"matcher": {
		"matcherList": {"matchers": [
			{"onMatch": {"action": {"name": "staff", "typedConfig": {"name": "ALLOW"}}}},
			{"onMatch": {"action": {"name": "guests", "typedConfig": {"name": "DENY", "action": "DENY"}}}},
		]},
		"onNoMatch": {"action": {"typedConfig": {"action": "DENY"}}},
	}}})
	values["/authorization"] == true
	values["/authorization/defaultAction"] == "Deny"
	values["/authorization/rules"] == [{"name": "staff", "action": "Allow"}, {"name": "guests", "action": "Deny"}]
}

test_rule_of_authorization_without_a_name_has_none if {
	rules := [{"onMatch": {"action": {"name": name, "typedConfig": {"name": "ALLOW"}}}} |
		some name in ["securitypolicy/shop/checks/authorization/rule/0", "securitypolicy/shop/checks/authorization/rule/0"]
	]
	values := _filter_values(_sp, "envoy.filters.http.rbac", {"rbac": {"matcher": {
		"matcherList": {"matchers": rules},
		"onNoMatch": {"action": {"typedConfig": {"action": "DENY"}}},
	}}})
	values["/authorization/rules"] == [{"action": "Allow"}, {"action": "Allow", "name": "securitypolicy/shop/checks/authorization/rule/0"}]
}

_manager(fields) := {"typedConfig": object.union(
	{
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"rds": {"routeConfigName": _routes},
	},
	fields,
)}

_with_filters(filters) := _part("listener", {"name": _routes, "defaultFilterChain": {"filters": [_manager({"httpFilters": filters})]}})

_values_of_filters(filters) := {fact.key: fact.values |
	some fact in _facts([_with_filters(filters)])
	fact.among == "connection manager infra/public/http"
}

test_filters_of_a_listener_state_their_settings if {
	_values_of_filters([
		{"name": "envoy.filters.http.ext_authz/securitypolicy/shop/checks", "typedConfig": {
			"@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
			"failureModeAllow": true,
			"httpService": {"pathPrefix": "/check"},
		}},
		{"name": "envoy.filters.http.lua/envoyextensionpolicy/shop/script/lua/0", "typedConfig": {
			"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
			"defaultSourceCode": {"inlineString": "return"},
		}},
		{"name": "envoy.filters.http.router", "typedConfig": {}},
	]) == {
		"filter infra/public/http envoy.filters.http.ext_authz/securitypolicy/shop/checks": {_sp: {
			"/extAuth/failOpen": true,
			"/extAuth/http/path": "/check",
		}},
		"filter infra/public/http envoy.filters.http.lua/envoyextensionpolicy/shop/script/lua/0": {_eep: {"/lua": [{
			"type": "Inline",
			"inline": "return",
		}]}},
		"filter infra/public/http envoy.filters.http.router": {},
	}
}

test_requirement_states_its_providers_of_tokens if {
	config := {
		"providers": {
			"h1": {"payloadInMetadata": "idp", "issuer": "https://idp.example.com", "audiences": ["shop"]},
			"h2": {"payloadInMetadata": "partners"},
		},
		"requirementMap": {
			"one": {"providerName": "h1"},
			"any": {"requiresAny": {"requirements": [{"providerName": "h2"}, {"allowMissing": {}}]}},
			"failed": {"requiresAny": {"requirements": [{"providerName": "h2"}, {"allowMissingOrFailed": {}}]}},
		},
	}
	found := {fact.key: fact.values |
		some fact in _facts([_with_filters([{"name": "envoy.filters.http.jwt_authn", "typedConfig": config}])])
		startswith(fact.key, "requirement ")
	}
	found == {
		"requirement infra/public/http one": {_sp: {
			"/jwt/providers": [{
				"name": "idp",
				"issuer": "https://idp.example.com",
				"audiences": ["shop"],
			}],
			"/jwt/optional": false,
		}},
		"requirement infra/public/http any": {_sp: {"/jwt/providers": [{"name": "partners"}], "/jwt/optional": true}},
		"requirement infra/public/http failed": {_sp: {"/jwt/providers": {"unread": true}, "/jwt/optional": {"unread": true}}},
	}
}

# The values of the connection managers of a listener.
_client_values(listener) := [fact.values[_ctp] |
	some fact in _facts([_part("listener", listener)])
	fact.key == "connection manager infra/public/http"
]

test_listener_states_how_it_handles_clients if {
	limit := {"typedConfig": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.connection_limit.v3.ConnectionLimit",
		"maxConnections": "40",
	}}
	manager := _manager({
		"requestTimeout": "10s",
		"commonHttpProtocolOptions": {"idleTimeout": "20s"},
		"streamIdleTimeout": "30s",
		"http2ProtocolOptions": {"maxConcurrentStreams": 50},
	})
	context := {
		"tlsParams": {
			"tlsMinimumProtocolVersion": "TLSv1_2",
			"tlsMaximumProtocolVersion": "TLSv1_3",
			"cipherSuites": ["ECDHE-RSA-AES128-GCM-SHA256"],
		},
		"alpnProtocols": ["h2"],
	}
	_client_values({"name": _routes, "perConnectionBufferLimitBytes": 32768, "filterChains": [{
		"filters": [limit, manager],
		"transportSocket": {"typedConfig": {"commonTlsContext": context}},
	}]}) == [{
		"/timeout/http/requestReceivedTimeout": "10s",
		"/timeout/http/idleTimeout": "20s",
		"/timeout/http/streamIdleTimeout": "30s",
		"/http2/maxConcurrentStreams": 50,
		"/connection/bufferLimit": 32768,
		"/connection/connectionLimit/value": 40,
		"/tls/minVersion": "1.2",
		"/tls/maxVersion": "1.3",
		"/tls/ciphers": ["ECDHE-RSA-AES128-GCM-SHA256"],
		"/tls/alpnProtocols": ["h2"],
	}]
}

test_listener_without_tls_states_nothing_about_it if {
	[values] := _client_values({"name": _routes, "defaultFilterChain": {"filters": [_manager({})]}})
	values["/connection/connectionLimit/value"] == null
	not "/tls/minVersion" in object.keys(values)
}

test_listener_is_a_target_that_refers_to_its_manager if {
	[fact | some fact in _facts([_with_filters([])]); fact.target] == [{
		"vendor": "Envoy Gateway",
		"proxy": "edge",
		"target": testing.listener_http,
		"via": testing.listener_http,
		"refers": ["connection manager infra/public/http"],
	}]
}

test_routes_of_a_listener_set_name_its_listener if {
	listener := _part("listener", {"name": "any", "defaultFilterChain": {"filters": [_manager({"rds": {"routeConfigName": "infra/public/shop/more/http"}})]}})
	facts := _facts([listener])
	{fact.target | some fact in facts} == {"gateway.networking.k8s.io/ListenerSet/shop/more#http"}
	{fact.key | some fact in facts} == {"connection manager infra/public/shop/more/http"}
	_facts([_part("routes", {"name": "infra/public/shop/more/http"})]) != set()
	_facts([_part("routes", {"name": "infra/public/shop/more"})]) == set()
}

test_routes_within_a_listener_have_its_name if {
	static := {"typedConfig": object.union(
		object.remove(_manager({}).typedConfig, ["rds"]),
		{"routeConfig": {"name": _routes}},
	)}
	{fact.target | some fact in _facts([_part("listener", {"name": "one", "defaultFilterChain": {"filters": [static]}})])} == {testing.listener_http}
	nameless := {"typedConfig": object.remove(_manager({}).typedConfig, ["rds"])}
	_facts([_part("listener", {"name": "one", "defaultFilterChain": {"filters": [nameless]}})]) == set()
}

_cluster_values(config) := fact.values[_btp] if {
	metadata := _own({"resources": [_rule]})
	[fact] := [one | some one in _facts([_part("cluster", object.union({"name": "one", "metadata": metadata}, config))])]
	fact.key == "cluster one"
	fact.updated == _received
}

test_cluster_states_its_connections if {
	_cluster_values({
		"connectTimeout": "3s",
		"typedExtensionProtocolOptions": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {"commonHttpProtocolOptions": {
			"idleTimeout": "50s",
			"maxConnectionDuration": "90s",
			"maxRequestsPerConnection": 7,
		}}},
		"circuitBreakers": {"thresholds": [
			{"priority": "HIGH", "maxConnections": 1},
			{"maxConnections": 100, "maxPendingRequests": 20, "maxRequests": 30, "maxRetries": 4},
		]},
	}) == {
		"/timeout/tcp/connectTimeout": "3s",
		"/timeout/http/connectionIdleTimeout": "50s",
		"/timeout/http/maxConnectionDuration": "90s",
		"/circuitBreaker/maxRequestsPerConnection": 7,
		"/circuitBreaker/maxConnections": 100,
		"/circuitBreaker/maxPendingRequests": 20,
		"/circuitBreaker/maxParallelRequests": 30,
		"/circuitBreaker/maxParallelRetries": 4,
	}
	_cluster_values({})["/circuitBreaker/maxConnections"] == null
}

test_clusters_of_others_are_left_out if {
	_facts([_part("cluster", {"name": "admin", "connectTimeout": "3s"})]) == set()
}

test_retries_without_a_trigger_are_none if {
	values := _route_fact({"route": {"cluster": "one", "retryPolicy": {"numRetries": 2, "retriableStatusCodes": [502]}}}).values[_btp]
	values["/retry/numRetries"] == null
	values["/retry/retryOn/httpStatusCodes"] == []
}

test_settings_that_change_retries_are_unknown if {
	policy := {"retryOn": "5xx", "numRetries": 2, "retriableRequestHeaders": [{"name": "x-retry", "presentMatch": true}]}
	_route_fact({"route": {"cluster": "one", "retryPolicy": policy}}).unknown == ["Policy Bridge doesn't know retriableRequestHeaders of the retry policy"]
}

test_thresholds_that_follow_the_number_of_requests_are_unknown if {
	cluster := _part("cluster", {"name": "one", "metadata": _own({}), "circuitBreakers": {"thresholds": [{"maxRetries": 3, "retryBudget": {}}]}})
	[fact.unknown | some fact in _facts([cluster])] == [["Policy Bridge doesn't know retryBudget of the thresholds"]]
}

test_limit_of_connections_that_runtime_settings_turn_off_is_not_read if {
	limit := {"typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.network.connection_limit.v3.ConnectionLimit", "maxConnections": "10", "runtimeEnabled": {"defaultValue": false}}}
	[values] := _client_values({"name": _routes, "defaultFilterChain": {"filters": [limit, _manager({})]}})
	values["/connection/connectionLimit/value"] == null
}

test_authorization_with_other_rules_beside_is_not_read if {
	config := {"rbac": {"matcher": {"onNoMatch": {"action": {"typedConfig": {"action": "DENY"}}}}, "rules": {}}}
	not "/authorization/defaultAction" in object.keys(_filter_values(_sp, "envoy.filters.http.rbac", config))
	_filter_values(_sp, "envoy.filters.http.rbac", {})["/authorization"] == null
}

test_authorization_with_rules_of_another_form_is_not_read if {
	deny := {"action": {"typedConfig": {"action": "DENY"}}}
	nested := {"predicate": {}, "onMatch": {"matcher": {"onNoMatch": deny}}}
	every matcher in [
		{"matcherTree": {}, "onNoMatch": deny}, {"matcherList": {"matchers": [nested]}, "onNoMatch": deny},
		{"onNoMatch": object.union(deny, {"matcher": {}})},
	] {
		not "/authorization/defaultAction" in object.keys(_filter_values(_sp, "envoy.filters.http.rbac", {"rbac": {"matcher": matcher}}))
	}
}

test_tls_versions_and_ciphers_are_not_read_where_envoy_decides_on_them if {
	socket := {"typedConfig": {"commonTlsContext": {"tlsParams": {"tlsMinimumProtocolVersion": "TLSv1_2", "compliancePolicies": ["FIPS_202205"]}}}}
	[values] := _client_values({"name": _routes, "defaultFilterChain": {"transportSocket": socket, "filters": [_manager({})]}})
	values["/tls/minVersion"] == {"unread": true}
	values["/tls/ciphers"] == {"unread": true}
}

test_filter_with_the_name_of_another_one_is_unknown if {
	lua := {"name": "envoy.filters.http.health_check", "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua"}}
	check := {"name": "any", "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.health_check.v3.HealthCheck"}}
	listener := _part("listener", {"name": _routes, "defaultFilterChain": {"filters": [_manager({"httpFilters": [lua, check]})]}})
	{text | some fact in _facts([listener]); some text in fact.unknown; contains(text, "filter ")} == {"Policy Bridge doesn't know what the filter envoy.filters.http.health_check does"}
}

_unknown_of_filter(filter) := {text | some fact in _facts([_with_filters([filter])]); some text in fact.unknown; contains(text, " filter ")}

test_filter_for_policies_that_acts_on_all_requests_is_unknown if {
	script := {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua", "defaultSourceCode": {"inlineString": "answer()"}}
	limit := {"@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", "statPrefix": "http"}
	fault := {"@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault"}
	_unknown_of_filter({"name": "envoy.filters.http.lua/envoyextensionpolicy/shop/script/lua/0", "disabled": true, "typedConfig": script}) == set()
	_unknown_of_filter({"name": "envoy.filters.http.local_ratelimit", "typedConfig": limit}) == set()
	_unknown_of_filter({"name": "envoy.filters.http.fault", "typedConfig": fault}) == set()
	every example in [
		["lua", script],
		["local_ratelimit", object.union(limit, {"tokenBucket": _bucket(1, "1s")})],
		["fault", object.union(fault, {"abort": {"httpStatus": 200}})],
	] {
		name := sprintf("envoy.filters.http.%s", [example[0]])
		_unknown_of_filter({"name": name, "typedConfig": example[1]}) == {sprintf("Policy Bridge doesn't know what the filter %s does", [name])}
	}
	_unknown_of_filter({"name": "envoy.filters.http.cors", "configDiscovery": {}}) == {"Policy Bridge doesn't know what the filter envoy.filters.http.cors does"}
}

test_route_that_asks_another_service_does_not_state_that_of_the_listener if {
	_check_values({"contextExtensions": {}}) == {}
	_check_values({"httpService": {}}) == {"/extAuth/failOpen": {"unread": true}, "/extAuth/http/path": {"unread": true}}
}

test_filter_with_a_setting_that_the_rules_do_not_know_is_unknown if {
	filter := {"name": "envoy.filters.http.router", "matcher": {}, "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}
	_unknown_of_filter(filter) == {"Policy Bridge doesn't know matcher of the filter for HTTP"}
}

_check_values(settings) := object.filter(
	_route_fact({"typedPerFilterConfig": {"envoy.filters.http.ext_authz/securitypolicy/shop/checks": {
		"@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
		"checkSettings": settings,
	}}}).values[_sp],
	["/extAuth/failOpen", "/extAuth/http/path"],
)

test_filter_of_a_listener_with_settings_of_another_form_is_not_read if {
	name := "envoy.filters.http.ext_authz/securitypolicy/shop/checks"
	filter := {"name": name, "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz", "filterEnabled": {}}}
	_values_of_filters([filter]) == {sprintf("filter infra/public/http %s", [name]): {_sp: {"/extAuth/failOpen": {"unread": true}, "/extAuth/http/path": {"unread": true}}}}
}

test_chain_beside_another_one_that_may_take_its_connections_is_unknown if {
	chain := {"filterChainMatch": {"serverNames": ["shop.example.com"]}, "filters": [_manager({})]}
	text := "another filter chain of its listener may take the connections"
	every example in [
		[{"filterChainMatch": {"serverNames": ["www.example.com"]}, "filters": [{"name": "tcp"}]}, false],
		[{"filterChainMatch": {"serverNames": ["www.example.com"]}, "filters": [_manager({"rds": {"routeConfigName": "patched"}})]}, true],
		[object.union(chain, {"filterChainMatch": {"sourcePrefixRanges": [{"addressPrefix": "10.0.0.0"}]}}), true],
	] {
		[other, may_take] := example
		facts := _facts([_part("listener", {"name": _routes, "filterChains": [chain, other]})])
		[one | some fact in facts; fact.key == "connection manager infra/public/http"; some one in fact.unknown; one == text; fact.place == 0] == [text | may_take]
	}
}

test_route_of_no_rule_states_its_place if {
	route := object.union(_part("route", {"name": "patched"}), {"routeConfig": _routes, "virtualHost": _host, "order": [_routes, _host, 3]})
	_facts([route]) == {{"vendor": "Envoy Gateway", "proxy": "edge", "order": [_routes, _host, 3]}}
	_facts([object.union(route, {"routeConfig": "http.80"})]) == set()
}

test_filter_without_its_configuration_in_the_dump_is_unknown if {
	filters := [{"name": "discovered", "configDiscovery": {}}, _manager({})]
	listener := _part("listener", {"name": _routes, "defaultFilterChain": {"filters": filters}})
	"Policy Bridge doesn't know what the filter discovered does" in {text | some fact in _facts([listener]); some text in fact.unknown}
}

test_routes_are_unknown_beside_a_virtual_host_without_rules if {
	host := object.union(
		_part("virtualHost", {"name": _host, "domains": ["www.example.com"], "metadata": _own({"resources": [{"kind": "Gateway", "namespace": "infra", "name": "public", "sectionName": "http"}]})}),
		{"routeConfig": _routes, "virtualHost": _host},
	)
	message := "Policy Bridge doesn't know the routes of the virtual host infra/public/http/all"
	every routes in [[], ["patched"]] {
		{message} == {text | some fact in _facts([object.union(host, {"routes": routes})]); fact.key == "routes infra/public/http"; some text in fact.unknown}
	}
	set() == {text | some fact in _facts([object.union(host, {"routes": ["patched", "httproute/shop/cart/rule/0/match/0/all"]})]); fact.key == "routes infra/public/http"; some text in fact.unknown}
}

test_route_of_a_rule_that_redirects_states_why_it_has_no_limits if {
	redirecting := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{"name": "pay", "filters": [{"type": "RequestRedirect"}]}])
	redirect := {"redirect": {"hostRedirect": "www.example.com"}}
	fact := _route_fact(redirect) with input.changes as {"upsert": [redirecting]}
	fact.because[_btp] == {pointer: "Envoy Gateway limits only requests to backends" |
		some pointer in ["/rateLimit/local", "/rateLimit/local/rules", "/rateLimit/global"]
	}
	other := _route_fact(redirect) with input.changes as testing.changed([]).changes
	[other.unknown, "because" in object.keys(other)] == [["the proxy answers the requests of this rule itself"], false]
}

test_rule_whose_backends_have_no_weight_states_why_it_has_no_limits if {
	idle := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{"name": "pay", "backendRefs": [{"name": "cart", "weight": 0}]}])
	fact := _route_fact({"directResponse": {"status": 500}}) with input.changes as {"upsert": [idle]}
	[fact.because[_btp]["/rateLimit/global"], "answers" in object.keys(fact)] == ["Envoy Gateway limits only requests to backends", false]
}

test_route_of_a_grpc_rule_states_why_it_has_no_upgrades if {
	calls := {"metadata": _own({"resources": [object.union(_rule, {"kind": "GRPCRoute"})]}), "route": {"cluster": "calls"}}
	_route_fact(calls).because == {_btp: {"/httpUpgrade": "Envoy Gateway upgrades no connections for a GRPCRoute"}}
	not _route_fact({"route": {"cluster": "calls"}}).because
}
