# METADATA
# title: Envoy Gateway's proxies
# description: |
#   Facts from the configuration that Envoy Gateway makes. Its virtual hosts and routes name their objects in the metadata
#   `envoy-gateway`; routes name their BackendTrafficPolicy there too, and filters of routes name other policies.
package bridge.proxies.envoy_gateway

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.proxies.envoy

_btp := "gateway.envoyproxy.io/BackendTrafficPolicy"
_sp := "gateway.envoyproxy.io/SecurityPolicy"
_eep := "gateway.envoyproxy.io/EnvoyExtensionPolicy"
_ctp := "gateway.envoyproxy.io/ClientTrafficPolicy"

# METADATA
# description: The vendor; see `docs/reference/proxies.md` for the form of `vendor` and `facts`.
vendor := {
	"name": "Envoy Gateway",
	"targets": [concat("/", [keys.gateway_api, kind]) | some kind in ["Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute"]],
	"fields": _fields,
	"elsewhere": {_btp: {"/rateLimit/global": "the rate limit service has the limits, not the proxy"}},
	# A Gateway has proxies of its own, or those of its class (EnvoyProxy, `mergeGateways`), in the controller's namespace, or in
	# its own namespace (`GatewayNamespace` of the controller). Pods with these labels in other namespaces may belong to other users.
	"pods": {"gateway.envoyproxy.io/gatewayclass-controller": {
		"port": 19000,
		"controllerNamespace": "envoy-gateway-system",
		"selections": [
			{"namespace": "{controller}", "labels": _owned_by_gateway},
			{"namespace": "{controller}", "labels": {"gateway.envoyproxy.io/owning-gatewayclass": "{class}"}},
			{"namespace": "{namespace}", "labels": _owned_by_gateway},
		],
	}},
}

_owned_by_gateway := {"gateway.envoyproxy.io/owning-gateway-name": "{name}", "gateway.envoyproxy.io/owning-gateway-namespace": "{namespace}"}

_duration := {"form": "Duration"}
_number := {"form": "Number"}
_value := {"form": "Value"}
_set := {"form": "Set"}
_present := {"form": "Present"}

# A field that has a default in policies with another one above it.
_in(part, value, form) := object.union(form, {"within": part, "default": value})

_fields := {
	_btp: {
		"/timeout/http/requestTimeout": _duration,
		"/timeout/http/streamIdleTimeout": _duration,
		"/timeout/http/maxStreamDuration": _duration,
		"/timeout/http/connectionIdleTimeout": _duration,
		"/timeout/http/maxConnectionDuration": _duration,
		"/timeout/tcp/connectTimeout": _duration,
		"/retry/numRetries": _number,
		"/retry/perRetry/timeout": _duration,
		"/retry/perRetry/backOff/baseInterval": _duration,
		"/retry/perRetry/backOff/maxInterval": _duration,
		"/retry/retryOn/triggers": _set,
		"/retry/retryOn/httpStatusCodes": _set,
		"/circuitBreaker/maxConnections": _number,
		"/circuitBreaker/maxPendingRequests": _number,
		"/circuitBreaker/maxParallelRequests": _number,
		"/circuitBreaker/maxParallelRetries": _number,
		"/circuitBreaker/maxRequestsPerConnection": _number,
		"/httpUpgrade": {"form": "ItemsInAnyOrder", "fields": ["type"]},
		"/rateLimit/type": _value,
		"/rateLimit/local/rules": {"form": "ItemsInAnyOrder", "fields": ["limit"], "with": ["clientSelectors"]},
		"/rateLimit/local": _present,
		"/rateLimit/global": _present,
		"/faultInjection": _present,
		"/requestBuffer": _present,
	},
	_sp: {
		"/cors": _present,
		"/cors/allowOrigins": _in("/cors", [], _set),
		"/cors/allowMethods": _in("/cors", [], _set),
		"/cors/allowHeaders": _in("/cors", [], _set),
		"/cors/exposeHeaders": _in("/cors", [], _set),
		"/cors/maxAge": _duration,
		"/cors/allowCredentials": _in("/cors", false, _value),
		"/jwt": _present,
		"/jwt/optional": _in("/jwt", false, _value),
		"/jwt/providers": {"form": "Items", "fields": ["name", "issuer", "audiences"]},
		"/extAuth": _present,
		"/extAuth/failOpen": _in("/extAuth", false, _value),
		"/extAuth/http/path": _value,
		"/authorization": _present,
		"/authorization/defaultAction": _value,
		"/authorization/rules": _in("/authorization", [], {"form": "Items", "fields": ["name", "action"]}),
		"/basicAuth": _present,
		"/apiKeyAuth": _present,
		"/oidc": _present,
	},
	_eep: {
		"/lua": {"form": "Items", "fields": ["type", "inline"], "unless": ["valueRef"]}, # code of a ConfigMap
		"/extProc": _present,
		"/wasm": _present,
	},
	_ctp: {
		"/timeout/http/requestReceivedTimeout": _duration,
		"/timeout/http/idleTimeout": _duration,
		"/timeout/http/streamIdleTimeout": _duration,
		"/connection/connectionLimit/value": _number,
		"/connection/bufferLimit": {"form": "Quantity"},
		"/http2/maxConcurrentStreams": _number,
		"/tls/minVersion": _value,
		"/tls/maxVersion": _value,
		"/tls/ciphers": {"form": "List"},
		"/tls/alpnProtocols": {"form": "List"},
	},
}

# Nodes that the metadata of a resource names.
_nodes(config) := [node |
	some one in config.metadata.filterMetadata["envoy-gateway"].resources
	node := _node(one, object.get(one, "sectionName", _place(config)))
]

_node(one, section) := key if {
	section == ""
	key := keys.format(keys.gateway_api, one.kind, one.namespace, one.name)
} else := keys.section(keys.format(keys.gateway_api, one.kind, one.namespace, one.name), section)

# The place of a rule without a name, from the name of its route.
_place(config) := sprintf("[%s]", [found[1]]) if {
	[found] := regex.find_all_string_submatch_n(`^[a-z]+/[^/]+/[^/]+/rule/([0-9]+)/match/`, config.name, 1)
} else := ""

# The listener of a configuration of routes, `<namespace>/<Gateway>/<listener>`, for a ListenerSet with its namespace and name before
# the listener (internal/gatewayapi/helpers.go, `irListenerName`).
_listener(name) := keys.section(keys.format(keys.gateway_api, "Gateway", parts[0], parts[1]), parts[2]) if {
	parts := split(name, "/")
	count(parts) == 3
} else := keys.section(keys.format(keys.gateway_api, "ListenerSet", parts[2], parts[3]), parts[4]) if {
	parts := split(name, "/")
	count(parts) == 5
}

_vhost_key(resource) := sprintf("virtual host %s %s", [resource.routeConfig, resource.virtualHost])
_manager_key(name) := sprintf("connection manager %s", [name])
_filter_key(manager, filter) := sprintf("filter %s %s", [manager, filter])
_cluster_key(name) := sprintf("cluster %s", [name])
_requirement_key(manager, name) := sprintf("requirement %s %s", [manager, name])
_routes_key(name) := sprintf("routes %s", [name])

# Virtual hosts: the listener at which their routes are, which is itself a target.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _vhost_key({"routeConfig": resource.routeConfig, "virtualHost": resource.config.name}),
	"target": node,
	"via": node,
	"covers": keys.object_of(node),
	"hosts": [host | some domain in object.get(resource.config, "domains", []); host := lower(trim_suffix(domain, ":*"))],
	"refers": [_manager_key(resource.routeConfig)],
	"unknown": envoy.unknown("virtual host", resource.config),
} if {
	some resource in input.resources.virtualHost
	some node in _nodes(resource.config)
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _routes_key(resource.config.name),
	"updated": object.get(resource, "updated", ""),
	"unknown": array.concat(envoy.unknown("configuration of routes", resource.config), envoy.unknown_ports(resource.config)),
} if {
	some resource in input.resources.routes
	_listener(resource.config.name)
}

# A virtual host of the same configuration takes the requests for its hosts, of which the rules must know the routes.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _routes_key(resource.routeConfig),
	"unknown": unknown,
} if {
	some resource in input.resources.virtualHost
	_listener(resource.routeConfig)
	unknown := array.concat(
		[sprintf("Policy Bridge doesn't know the virtual host %s", [resource.config.name]) | _nodes(resource.config) == []],
		array.concat(
			[sprintf("Policy Bridge doesn't know which requests %s takes", [domain]) | some domain in resource.config.domains; regex.match(`:[0-9]+$`, domain)],
			[sprintf("Policy Bridge doesn't know the routes of the virtual host %s", [resource.config.name]) | _has_no_rules(resource)],
		),
	)
	unknown != []
}

# It takes requests for its hosts from the virtual hosts of wildcards.
_has_no_rules(resource) if {
	every name in resource.routes {
		not regex.match(`^[a-z]+/[^/]+/[^/]+/rule/[0-9]+/match/`, name)
	}
}

# Routes.
facts contains object.union(
	{
		"vendor": vendor.name,
		"proxy": resource.proxy,
		"name": resource.config.name,
		"target": node,
		"within": [_vhost_key(resource), _routes_key(resource.routeConfig)],
		"needs": [_manager_key(resource.routeConfig)],
		"match": envoy.match(object.get(resource.config, "match", {})),
		"order": resource.order,
		"refers": [_cluster_key(name) | not about.splits; name := resource.config.route.cluster],
		"names": {_btp: [_key_of(one) |
			some one in resource.config.metadata.filterMetadata["envoy-gateway"].policies
			one.kind == "BackendTrafficPolicy"
		]},
		"about": about.rest,
	},
	_itself(envoy.shared(resource), node),
) if {
	some resource in input.resources.route
	some node in _nodes(resource.config)
	some about in _abouts_of_route(resource.routeConfig, envoy.shared(resource))
}

# Routes of no rule: the requests that they may take are not those of rules after them.
facts contains {"vendor": vendor.name, "proxy": resource.proxy, "order": resource.order} if {
	some resource in input.resources.route
	_listener(resource.routeConfig)
	_nodes(resource.config) == []
}

# What a route says besides its own names, one for each cluster of a split: many routes share it.
_abouts_of_route(routes, route) := [{"splits": count(clusters) > 0, "rest": about} |
	clusters := _clusters(route)
	some configs in _filter_configs(route)
	filters := _of_filters(routes, configs)
	about := {
		"unknown": envoy.unknown_of_route(route),
		"refers": array.concat(clusters, filters.refers),
		"requires": filters.requires,
		"names": filters.policies,
		"values": object.union(filters.values, {_btp: object.union(filters.values[_btp], _of_route(route))}),
	}
]

_grpc := concat("/", [keys.gateway_api, "GRPCRoute", ""])

# A route that answers requests itself instead of a backend: if the rule does not say so, nothing is known of it, else it has
# no limits (internal/xds/translator, `patchRoute` of local_ratelimit.go and `patchRouteWithRateLimit` of ratelimit.go).
_itself(route, node) := {} if {
	route.route
	not startswith(node, _grpc)
} else := {"because": {_btp: {"/httpUpgrade": "Envoy Gateway upgrades no connections for a GRPCRoute"}}} if {
	route.route
} else := object.union(
	{"unknown": [envoy.answers_itself]},
	{"answers": [status, _refusal] | status := route.directResponse.status},
) if {
	_has_backends(node)
} else := {"because": {_btp: {pointer: "Envoy Gateway limits only requests to backends" | some pointer in ["/rateLimit/local", "/rateLimit/local/rules", "/rateLimit/global"]}}} if {
	hierarchy.rule_of(node)
} else := {}

# What the filters of the routes of a listener say, a function of their configuration only, which many routes share.
_of_filters(routes, configs) := {
	"refers": array.concat(
		[_filter_key(routes, name) | some name, _ in active],
		[_requirement_key(routes, one.config.requirementName) | some one in filters.jwt_authn],
	),
	"requires": {kind: {part: [_filter_key(routes, one.name) | some one in filters[type]] | some part, type in parts} | some kind, parts in _parts},
	"policies": _named_by_filters(active),
	"values": {
		_btp: object.union_n([_present_parts(filters, _btp), _of_local_limit(filters), _of_limits(filters)]),
		_sp: object.union_n([_present_parts(filters, _sp), _of_cors(filters), _of_authorization(filters), _of_check(filters)]),
		_eep: object.union(_present_parts(filters, _eep), {"/lua": _of_lua(filters)}),
	},
} if {
	active := {name: config | some name, written in configs; config := envoy.active_config(written); _acts(_type(name), config)}
	filters := _by_type(active)
}

# The filters of a route. Those of a cluster in a split take precedence there.
_filter_configs(route) := {object.union(own, object.get(one, "typedPerFilterConfig", {})) | some one in split} | {own | count(split) == 0} if {
	own := object.get(route, "typedPerFilterConfig", {})
	split := object.get(route, ["route", "weightedClusters", "clusters"], [])
}

# The clusters of a route besides that of its own. Routes of high priority have limits of their own, which no policy sets.
_clusters(route) := ["clusters of high priority"] if {
	route.route.priority == "HIGH"
} else := [_cluster_key(object.get(one, "name", "")) | some one in route.route.weightedClusters.clusters]

_has_backends(node) if {
	rule := hierarchy.rule_of(node)
	sum([object.get(one, "weight", 1) | some one in rule.backendRefs]) > 0
	every filter in object.get(rule, "filters", []) {
		not filter.type in {"RequestRedirect", "ExtensionRef"}
	}
}

_refusal := "Envoy Gateway makes it so if it cannot use a policy or a backend of the rule; see their statuses"

# The code is in the listener's filters; a route that has its own replaces it.
_of_lua(filters) := [{"type": "Route"} | some one in filters.lua; count(object.keys(one.config) - {"@type", "config"}) > 0]

# Filters by their types, `ext_authz` of `envoy.filters.http.ext_authz/securitypolicy/shop/checks`.
_by_type(active) := {type: [{"name": name, "config": active[name]} | some name, other in types; other == type] |
	types := {name: _type(name) | some name, _ in active}
	some _, type in types
}

_type(name) := split(trim_prefix(name, "envoy.filters.http."), "/")[0]

# The names of the messages that configure filters, in a listener and in a route; `FilterConfig` may be empty.
_messages := {
	"cors": ["Cors", "CorsPolicy"],
	"jwt_authn": ["JwtAuthentication", "PerRouteConfig"],
	"ext_authz": ["ExtAuthz", "ExtAuthzPerRoute"],
	"rbac": ["RBAC", "RBACPerRoute"],
	"basic_auth": ["BasicAuth", "BasicAuthPerRoute"],
	"api_key_auth": ["ApiKeyAuth", "ApiKeyAuthPerRoute"],
	"oauth2": ["OAuth2", "OAuth2"],
	"local_ratelimit": ["LocalRateLimit", "LocalRateLimit"],
	"ratelimit": ["RateLimit", "RateLimitPerRoute"],
	"fault": ["HTTPFault", "HTTPFault"],
	"buffer": ["Buffer", "BufferPerRoute"],
	"lua": ["Lua", "LuaPerRoute"],
	"ext_proc": ["ExternalProcessor", "ExtProcPerRoute"],
	"wasm": ["Wasm", "Wasm"],
}

# The filters that a route can enable without a configuration of its own.
_enabled_alone := {"ext_authz", "basic_auth", "api_key_auth", "oauth2", "ratelimit", "lua", "ext_proc", "wasm"}

# A filter acts if its configuration is its own. One without rules or faults turns it off.
_acts(type, config) if {
	envoy.is_of_type(config, _messages[type][1])
	not _is_idle(type, config)
}

_acts(type, {}) if type in _enabled_alone

_acts(type, _) if not _messages[type]

_is_idle("rbac", config) if not config.rbac

_is_idle("fault", config) if {
	not config.abort
	not config.delay
}

# Parts of policies, and the types of the filters that do them, without which they have no effect.
_parts := {
	_sp: {
		"/cors": "cors",
		"/jwt": "jwt_authn",
		"/extAuth": "ext_authz",
		"/authorization": "rbac",
		"/basicAuth": "basic_auth",
		"/apiKeyAuth": "api_key_auth",
		"/oidc": "oauth2",
	},
	_btp: {
		"/rateLimit/local": "local_ratelimit",
		"/rateLimit/global": "ratelimit",
		"/faultInjection": "fault",
		"/requestBuffer": "buffer",
	},
	_eep: {"/lua": "lua", "/extProc": "ext_proc", "/wasm": "wasm"},
}

_key_of(one) := keys.format("gateway.envoyproxy.io", one.kind, one.namespace, one.name)

# A filter that needs no configuration of its own in the listener does not name its policy.
_named_by_filters(active) := {kind: [policy | some [policy, other] in found; other == kind] | some [_, kind] in found} if {
	found := {[concat("/", [kind, parts[2], parts[3]]), kind] |
		some name, _ in active
		parts := split(name, "/")
		count(parts) > 3
		kind := {"securitypolicy": _sp, "envoyextensionpolicy": _eep}[parts[1]]
	}
}

_present_parts(filters, kind) := {part: value |
	some part, type in _parts[kind]
	part != "/lua"
	value := _or_null({true | filters[type]})
}

_or_null(found) := [value | some value in found][0] if {
	count(found) == 1
} else := null

# Only routes to backends have these; others answer by themselves.
_of_route(route) := {
	"/timeout/http/requestTimeout": object.get(route.route, "timeout", null),
	"/timeout/http/streamIdleTimeout": object.get(route.route, "idleTimeout", null),
	"/timeout/http/maxStreamDuration": object.get(route.route, ["maxStreamDuration", "maxStreamDuration"], null),
	"/httpUpgrade": [{"type": one.upgradeType} | some one in route.route.upgradeConfigs; not one.enabled == false],
	"/retry/numRetries": _number_of_retries(policy),
	"/retry/perRetry/timeout": object.get(policy, "perTryTimeout", null),
	"/retry/perRetry/backOff/baseInterval": object.get(policy, ["retryBackOff", "baseInterval"], null),
	"/retry/perRetry/backOff/maxInterval": object.get(policy, ["retryBackOff", "maxInterval"], null),
	"/retry/retryOn/triggers": _triggers(policy),
	"/retry/retryOn/httpStatusCodes": [code | "retriable-status-codes" in _triggers(policy); some code in policy.retriableStatusCodes],
} if {
	policy := object.get(route.route, "retryPolicy", {})
} else := {}

_triggers(policy) := [trigger | some trigger in split(object.get(policy, "retryOn", ""), ","); trigger != ""]

# Without a trigger, no request is retried.
_number_of_retries(policy) := policy.numRetries if {
	_triggers(policy) != []
} else := null

_of_limits(filters) := {"/rateLimit/type": type} if {
	[type] := [type | some name, type in {"local_ratelimit": "Local", "ratelimit": "Global"}; filters[name]]
} else := {}

# Limits that a proxy counts itself. A limit that is not enforced for all requests is none.
_of_local_limit(filters) := {"/rateLimit/local/rules": null} if {
	not filters.local_ratelimit
} else := {"/rateLimit/local/rules": array.concat(
	[{"limit": limit} | some bucket in _buckets([config]); limit := _limit(bucket)],
	[{"limit": limit, "clientSelectors": null} | some one in config.descriptors; limit := _limit(one.tokenBucket)],
)} if {
	[{"config": config}] := [{"config": one.config} | some one in filters.local_ratelimit]
	object.keys(config) - _limiting == set()
	every part in ["filterEnabled", "filterEnforced"] {
		envoy.is_always(config[part])
	}
	every bucket in array.concat(_buckets([config]), [one.tokenBucket | some one in config.descriptors]) {
		_limit(bucket)
	}
} else := {"/rateLimit/local/rules": null}

# The settings of the filter with which its buckets are those of a route in one proxy.
_limiting := {
	"@type", "statPrefix", "tokenBucket", "filterEnabled", "filterEnforced", "descriptors", "rateLimits",
	"enableXRatelimitHeaders", "alwaysConsumeDefaultTokenBucket", "maxDynamicDescriptors", "responseHeadersToAdd",
	"rateLimitedAsResourceExhausted", "stage", "vhRateLimits",
}

# Without a limit for all requests, the filter has a bucket that no request empties. Requests of a
# client with a bucket of its own, in the descriptors, do not use that of all.
_buckets(configs) := [one.tokenBucket |
	some one in configs
	one.tokenBucket.maxTokens < 4294967295
]

_limit(bucket) := {"requests": bucket.maxTokens, "unit": _units[bucket.fillInterval]} if {
	object.get(bucket, "tokensPerFill", 1) == bucket.maxTokens
}

_units := {"1s": "Second", "60s": "Minute", "3600s": "Hour", "86400s": "Day", "2592000s": "Month", "31536000s": "Year"}

_of_cors(filters) := {
	"/cors/allowOrigins": [_origin(one) | some one in config.allowOriginStringMatch],
	"/cors/allowMethods": _texts(config, "allowMethods"),
	"/cors/allowHeaders": _texts(config, "allowHeaders"),
	"/cors/exposeHeaders": _texts(config, "exposeHeaders"),
	"/cors/maxAge": _seconds(object.get(config, "maxAge", null)),
	"/cors/allowCredentials": object.get(config, "allowCredentials", false),
} if {
	[{"config": config}] := [{"config": one.config} | some one in filters.cors]
	object.keys(config) - _of_cors_policy == set()
} else := {}

_of_cors_policy := {
	"@type", "allowOriginStringMatch", "allowMethods", "allowHeaders", "exposeHeaders", "maxAge", "allowCredentials",
	"forwardNotMatchingPreflights",
}

_texts(config, field) := [trim_space(text) | some text in split(object.get(config, field, ""), ","); trim_space(text) != ""]

_seconds(null) := null
_seconds(text) := sprintf("%vs", [text]) if text != null

# Envoy Gateway writes `*` as `.*`, and quotes the rest.
_origin(one) := one.exact if {
	object.keys(one) == {"exact"}
} else := text if {
	text := replace(replace(one.safeRegex.regex, `\.`, "."), ".*", "*")
	replace(replace(text, ".", `\.`), "*", ".*") == one.safeRegex.regex
	object.keys(one) == {"safeRegex"}
} else := one

# A route may ask another service than the listener's filter.
_of_check(filters) := envoy.unread({_sp: ["/extAuth/failOpen", "/extAuth/http/path"]})[_sp] if {
	some one in filters.ext_authz
	object.keys(one.config) - {"@type", "checkSettings"} != set()
} else := envoy.unread({_sp: ["/extAuth/failOpen", "/extAuth/http/path"]})[_sp] if {
	some one in filters.ext_authz
	object.keys(object.get(one.config, "checkSettings", {})) - {"contextExtensions", "disableRequestBodyBuffering", "withRequestBody"} != set()
} else := {}

_of_authorization(filters) := {
	"/authorization/defaultAction": _action(config.rbac.matcher.onNoMatch.action),
	"/authorization/rules": [object.union({"action": _action(one.onMatch.action)}, _name_of(place, one.onMatch.action.name)) |
		some place, one in object.get(config.rbac.matcher, ["matcherList", "matchers"], [])
	],
} if {
	[{"config": config}] := [{"config": one.config} | some one in filters.rbac]
	object.keys(config) - {"@type"} == {"rbac"}
	object.keys(config.rbac) == {"matcher"}
	object.keys(config.rbac.matcher.onNoMatch) == {"action"}
	object.keys(config.rbac.matcher) - {"matcherList", "onNoMatch"} == set()
	every one in object.get(config.rbac.matcher, ["matcherList", "matchers"], []) {
		object.keys(one) - {"predicate", "onMatch"} == set()
		object.keys(one.onMatch) == {"action"}
	}
} else := {}

# A rule without a name gets that of its policy and its place.
_name_of(place, name) := {} if {
	regex.match(sprintf(`^securitypolicy/[^/]+/[^/]+/authorization/rule/%d$`, [place]), name)
} else := {"name": name}

# An action without a field is ALLOW, the first of its values.
_action(action) := {"ALLOW": "Allow", "DENY": "Deny"}[object.get(action.typedConfig, "action", "ALLOW")]

# Filters of listeners, which routes need and refer to.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _filter_key(_routes_of(manager), filter.name),
	"among": _manager_key(_routes_of(manager)),
	"name": resource.config.name,
	"place": place,
	"values": _of_filter(manager, filter),
} if {
	some resource in input.resources.listener
	some [place, _, manager] in envoy.managers(resource.config)
	some filter in manager.httpFilters
	_is_itself(filter)
	_listener(_routes_of(manager))
}

_is_itself(filter) if envoy.is_of_type(filter.typedConfig, _messages[_type(filter.name)][0])

_is_itself(filter) if {
	not _messages[_type(filter.name)]
	filter.typedConfig
}

_of_filter(manager, filter) := {_sp: {
	"/extAuth/failOpen": object.get(filter.typedConfig, "failureModeAllow", false),
	"/extAuth/http/path": object.get(filter.typedConfig, ["httpService", "pathPrefix"], null),
}} if {
	_type(filter.name) == "ext_authz"
	object.keys(filter.typedConfig) - _of_ext_authz == set()
	object.keys(object.get(filter.typedConfig, "httpService", {})) - _of_http_service == set()
} else := {_eep: {"/lua": [{"type": "Inline", "inline": code}]}} if {
	_type(filter.name) == "lua"
	code := filter.typedConfig.defaultSourceCode.inlineString
	_is_in_order(manager, filter.name)
} else := envoy.unread(_of_filters_alone[_type(filter.name)]) if {
	true
} else := {}

# What the filter of a listener says, and not those of its routes.
_of_filters_alone := {"ext_authz": {_sp: ["/extAuth/failOpen", "/extAuth/http/path"]}, "lua": {_eep: ["/lua"]}}

# The settings of the filter with which it asks for each request.
_of_ext_authz := {
	"@type", "grpcService", "httpService", "failureModeAllow", "failureModeAllowHeaderAdd", "withRequestBody", "clearRouteCache",
	"statusOnError", "metadataContextNamespaces", "typedMetadataContextNamespaces", "transportApiVersion", "statPrefix",
	"includePeerCertificate", "allowedHeaders", "disallowedHeaders", "includeTlsSession", "encodeRawHeaders", "maxDeniedResponseBodyBytes",
}

_of_http_service := {"serverUri", "pathPrefix", "authorizationRequest", "authorizationResponse", "retryPolicy"}

# The code of one policy runs in the order of its places, the last part of a filter's name.
_is_in_order(manager, name) if {
	names := [one.name | some one in manager.httpFilters; startswith(one.name, concat("/", array.slice(split(name, "/"), 0, 5)))]
	places := [to_number(parts[count(parts) - 1]) | some one in names; parts := split(one, "/")]
	places == sort(places)
}

_routes_of(manager) := object.get(manager, ["rds", "routeConfigName"], object.get(manager, ["routeConfig", "name"], ""))

# Connection managers, by the name of their routes. Listeners for HTTP at one port share one.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _manager_key(_routes_of(manager)),
	"name": resource.config.name,
	"place": place,
	"updated": object.get(resource, "updated", ""),
	"values": {_ctp: object.remove(object.union_n([_of_manager(manager), _of_listener(listener, chain), _of_tls(chain)]), _not_of(manager))},
	"unknown": array.flatten([
		envoy.unknown_of_manager(listener, chain, manager),
		_unknown_of_chain(listener, chain, _routes_of(manager)),
		_unknown_filters(manager),
		_unknown_port(listener, _routes_of(manager)),
	]),
} if {
	some resource in input.resources.listener
	listener := resource.config
	some [place, chain, manager] in envoy.managers(listener)
	_listener(_routes_of(manager))
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"target": node,
	"via": node,
	"refers": [_manager_key(_routes_of(manager))],
} if {
	some resource in input.resources.listener
	some [_, _, manager] in envoy.managers(resource.config)
	node := _listener(_routes_of(manager))
}

# Filters for HTTP that may answer requests, or keep others from them, before the filters that the rules know.
_unknown_filters(manager) := [sprintf("Policy Bridge doesn't know what the filter %s does", [filter.name]) |
	some filter in manager.httpFilters
	not is_known_filter(filter)
]

# METADATA
# description: The rules know what a filter for HTTP in a listener does. Its name is anything; Envoy looks at the type.
is_known_filter(filter) if {
	envoy.filter_kind(filter.typedConfig) in _of_other_features
}

is_known_filter(filter) if {
	type := _type(filter.name)
	envoy.is_of_type(filter.typedConfig, _messages[type][0])
	_acts_at_routes_only(type, filter)
}

# A filter for policies is off in the listener, or has only settings there with which it does nothing: routes turn it on.
_acts_at_routes_only(_, filter) if filter.disabled

_acts_at_routes_only(type, filter) if object.keys(filter.typedConfig) - _without_effect[type] == {"@type"}

_without_effect := {
	"cors": set(),
	"fault": set(),
	"oauth2": set(),
	"rbac": set(),
	"jwt_authn": {"providers", "requirementMap", "stripFailureResponse"},
	"local_ratelimit": _limiting - {"@type", "tokenBucket", "descriptors"},
	"ratelimit": {
		"domain", "stage", "requestType", "timeout", "failureModeDeny", "rateLimitedAsResourceExhausted", "rateLimitService",
		"enableXRatelimitHeaders", "disableXEnvoyRatelimitedHeader", "rateLimitedStatus", "statPrefix",
	},
}

# Filters of other features of Envoy Gateway: they change requests and answers, or answer where a policy says so.
_of_other_features := {
	"router", "health_check", "header_mutation", "stateful_session", "custom_response", "credential_injector", "compressor", "decompressor",
	"dynamic_forward_proxy", "geoip", "bandwidth_limit", "grpc_web", "grpc_stats", "tap", "admission_control",
}

# Envoy Gateway's proxies listen above the privileged ports.
_unknown_port(listener, routes) := [sprintf("its listener has port %d, not that of the Gateway", [port]) |
	port := listener.address.socketAddress.portValue
	one := hierarchy.listener(_listener(routes))
	not port in {one.port, one.port + 10000}
]

# A chain for TLS has the hostname of its listener; the only chain of a listener without TLS has none.
_unknown_of_chain(listener, chain, routes) := array.flatten([
	[sprintf("Policy Bridge doesn't know what the filter %s does", [filter.name]) |
		some filter in chain.filters
		not envoy.is_manager(filter)
		not envoy.is_of_type(object.get(filter, "typedConfig", {}), "ConnectionLimit")
	],
	["its filter chain is for other connections than the listener" |
		own := hierarchy.listener(_listener(routes))
		not _takes_connections(listener, object.get(chain, "filterChainMatch", {}), own)
	],
	["another filter chain of its listener may take the connections" | some other in envoy.chains(listener); _may_take_connections(other)],
])

# A chain with other conditions than those of a listener, or with routes of none.
_may_take_connections(chain) if object.keys(object.get(chain, "filterChainMatch", {})) - {"serverNames"} != set()

_may_take_connections(chain) if {
	some filter in chain.filters
	envoy.is_manager(filter)
	not _listener(_routes_of(filter.typedConfig))
}

_takes_connections(_, match, one) if {
	one.protocol in {"HTTPS", "TLS"}
	match == {name: [host] | name := "serverNames"; host := object.get(one, "hostname", ""); host != ""}
}

_takes_connections(listener, {}, one) if {
	not one.protocol in {"HTTPS", "TLS"}
	count(envoy.chains(listener)) == 1
}

# Listeners for HTTP/3 have a protocol and buffers of their own, which no policy sets.
_not_of(manager) := ["/tls/alpnProtocols", "/connection/bufferLimit"] if {
	manager.codecType == "HTTP3"
} else := []

_of_manager(manager) := {
	"/timeout/http/requestReceivedTimeout": object.get(manager, "requestTimeout", null),
	"/timeout/http/idleTimeout": object.get(manager, ["commonHttpProtocolOptions", "idleTimeout"], null),
	"/timeout/http/streamIdleTimeout": object.get(manager, "streamIdleTimeout", null),
	"/http2/maxConcurrentStreams": object.get(manager, ["http2ProtocolOptions", "maxConcurrentStreams"], null),
}

_of_listener(listener, chain) := {
	"/connection/bufferLimit": object.get(listener, "perConnectionBufferLimitBytes", null),
	"/connection/connectionLimit/value": _or_null({to_number(filter.typedConfig.maxConnections) |
		some filter in chain.filters
		envoy.is_of_type(filter.typedConfig, "ConnectionLimit")
		envoy.unknown("connection limit", filter.typedConfig) == []
	}),
}

_of_tls(chain) := {
	"/tls/minVersion": object.get(_tls_versions, object.get(context, ["tlsParams", "tlsMinimumProtocolVersion"], null), null),
	"/tls/maxVersion": object.get(_tls_versions, object.get(context, ["tlsParams", "tlsMaximumProtocolVersion"], null), null),
	"/tls/ciphers": object.get(context, ["tlsParams", "cipherSuites"], null),
	"/tls/alpnProtocols": object.get(context, "alpnProtocols", null),
} if {
	context := _tls_context(chain.transportSocket.typedConfig)
	object.keys(object.get(context, "tlsParams", {})) - _of_tls_params == set()
} else := envoy.unread({_ctp: ["/tls/minVersion", "/tls/maxVersion", "/tls/ciphers", "/tls/alpnProtocols"]})[_ctp] if {
	chain.transportSocket
} else := {}

# With others, such as `compliancePolicies`, Envoy decides on versions and ciphers itself.
_of_tls_params := {"tlsMinimumProtocolVersion", "tlsMaximumProtocolVersion", "cipherSuites", "ecdhCurves", "signatureAlgorithms"}

_tls_context(socket) := socket.commonTlsContext if {
	true
} # QUIC

else := socket.downstreamTlsContext.commonTlsContext

_tls_versions := {"TLS_AUTO": "Auto", "TLSv1_0": "1.0", "TLSv1_1": "1.1", "TLSv1_2": "1.2", "TLSv1_3": "1.3"}

# Clusters.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _cluster_key(resource.config.name),
	"updated": object.get(resource, "updated", ""),
	"about": _about_cluster(envoy.shared(resource)),
} if {
	some resource in input.resources.cluster
	resource.config.metadata.filterMetadata["envoy-gateway"]
}

_about_cluster(cluster) := {
	"values": {_btp: _of_cluster(cluster)},
	"unknown": [text | some one in object.get(cluster, ["circuitBreakers", "thresholds"], []); some text in envoy.unknown("thresholds", one)],
}

_of_cluster(cluster) := {
	"/timeout/tcp/connectTimeout": object.get(cluster, "connectTimeout", null),
	"/timeout/http/connectionIdleTimeout": object.get(options, "idleTimeout", null),
	"/timeout/http/maxConnectionDuration": object.get(options, "maxConnectionDuration", null),
	"/circuitBreaker/maxRequestsPerConnection": object.get(options, "maxRequestsPerConnection", null),
	"/circuitBreaker/maxConnections": object.get(thresholds, "maxConnections", null),
	"/circuitBreaker/maxPendingRequests": object.get(thresholds, "maxPendingRequests", null),
	"/circuitBreaker/maxParallelRequests": object.get(thresholds, "maxRequests", null),
	"/circuitBreaker/maxParallelRetries": object.get(thresholds, "maxRetries", null),
} if {
	options := object.get(cluster, ["typedExtensionProtocolOptions", "envoy.extensions.upstreams.http.v3.HttpProtocolOptions", "commonHttpProtocolOptions"], {})
	thresholds := _or_empty([one | some one in object.get(cluster, ["circuitBreakers", "thresholds"], []); object.get(one, "priority", "DEFAULT") == "DEFAULT"])
}

_or_empty([one]) := one
_or_empty(other) := {} if count(other) != 1

# Providers of JWTs: what a route's requirement names in its listener's filter.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _requirement_key(_routes_of(manager), name),
	"values": {_sp: _of_requirement(requirement, filter.typedConfig)},
} if {
	some resource in input.resources.listener
	some [_, _, manager] in envoy.managers(resource.config)
	some filter in manager.httpFilters
	some name, requirement in filter.typedConfig.requirementMap
	_listener(_routes_of(manager))
}

# Any of the providers, or no token if that is optional.
_of_requirement(requirement, config) := {
	"/jwt/providers": [_provider(config.providers[one.providerName]) | some one in wanted; one.providerName],
	"/jwt/optional": {"allowMissing": {}} in wanted,
} if {
	wanted := _any_of(requirement)
	every one in wanted {
		_is_provider(one)
	}
} else := envoy.unread({_sp: ["/jwt/providers", "/jwt/optional"]})[_sp]

_any_of(requirement) := requirement.requiresAny.requirements if {
	object.keys(requirement) == {"requiresAny"}
} else := [requirement]

_is_provider(one) if object.keys(one) == {"providerName"}

_is_provider({"allowMissing": {}})

# Envoy Gateway names a provider with a hash, and the metadata for its claims as the policy does.
_provider(config) := {field: config[name] |
	some field, name in {"name": "payloadInMetadata", "issuer": "issuer", "audiences": "audiences"}
	config[name]
}
