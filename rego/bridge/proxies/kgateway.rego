# METADATA
# title: kgateway's proxies
# description: |
#   Facts from the configuration that kgateway makes. The role of the node names the Gateway, and routes name their rules in
#   the metadata `dev.kgateway.route_source`; `merge.TrafficPolicy.gateway.kgateway.dev` names the policies of each field, of
#   a route, of a listener at its virtual hosts, and of a Gateway at the configuration of routes.
package bridge.proxies.kgateway

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.proxies.envoy

_policy := "gateway.kgateway.dev/TrafficPolicy"

_merged := "merge.TrafficPolicy.gateway.kgateway.dev"

_source := "dev.kgateway.route_source"

# METADATA
# description: The vendor; see `docs/reference/proxies.md` for the form of `vendor` and `facts`.
vendor := {
	"name": "kgateway",
	"targets": [concat("/", [keys.gateway_api, kind]) | some kind in ["HTTPRoute", "GRPCRoute"]],
	"names": "all",
	"fields": {_policy: {
		"/timeouts/request": {"form": "Duration"},
		"/timeouts/streamIdle": {"form": "Duration"},
		"/retry/attempts": {"form": "Number"},
		"/retry/retryOn": {"form": "Set"},
		"/retry/perTryTimeout": {"form": "Duration"},
		"/retry/statusCodes": {"form": "Set"},
	}},
	"pods": {"kgateway.dev/kgateway": {
		"port": 19000,
		"selections": [{"namespace": "{namespace}", "labels": {"gateway.networking.k8s.io/gateway-name": "{name}"}}],
	}},
}

_vhost_key(resource) := sprintf("virtual host %s %s", [resource.routeConfig, resource.virtualHost])

_routes_key(name) := sprintf("routes %s", [name])

_listener_key(name) := sprintf("listener %s", [name])

_manager_key(name) := sprintf("connection manager %s", [name])

_gateway_of(resource) := keys.format(keys.gateway_api, "Gateway", parts[1], parts[2]) if {
	parts := split(resource.config.node.metadata.role, "~")
	parts[0] == "kgateway-kube-gateway-api"
}

facts contains {"vendor": vendor.name, "proxy": resource.proxy, "covers": gateway} if {
	some resource in input.resources.bootstrap
	gateway := _gateway_of(resource)
}

# The listeners of a Gateway, by the name of their configuration of routes. HTTP listeners of one port share it, so that it
# is of none of them if they are several.
facts contains {"vendor": vendor.name, "proxy": resource.proxy, "key": _listener_key(name), "via": keys.section(gateway, names[0])} if {
	some resource in input.resources.bootstrap
	gateway := _gateway_of(resource)
	some listener in hierarchy.listeners(gateway)
	name := _routes_of_listener(listener)
	names := [one.name | some one in hierarchy.listeners(gateway); _routes_of_listener(one) == name]
	count(names) == 1
}

_routes_of_listener(listener) := sprintf("listener~%v", [listener.port]) if {
	listener.protocol == "HTTP"
} else := listener.name

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _routes_key(resource.config.name),
	"updated": object.get(resource, "updated", ""),
	"origins": _origins(resource.config),
	"unknown": array.flatten([
		_unknown("configuration of routes", resource.config, ["typedPerFilterConfig"]),
		_unknown_configs(resource.config),
		envoy.unknown_ports(resource.config),
	]),
} if {
	some resource in input.resources.routes
	not contains(resource.config.name, "/")
}

# A virtual host that kgateway did not make takes the requests for its hosts.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _routes_key(resource.routeConfig),
	"unknown": [sprintf("Policy Bridge doesn't know the virtual host %s", [resource.config.name])],
} if {
	some resource in input.resources.virtualHost
	not contains(resource.routeConfig, "/")
	not startswith(resource.config.name, sprintf("%s~", [resource.routeConfig]))
}

# Hosts of listeners for HTTPS require TLS.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _vhost_key({"routeConfig": resource.routeConfig, "virtualHost": resource.config.name}),
	"hosts": [lower(domain) | some domain in object.get(resource.config, "domains", [])],
	"origins": _origins(resource.config),
	"unknown": array.concat(
		_unknown("virtual host", resource.config, array.concat(["typedPerFilterConfig", "retryPolicy"], ["requireTls" | not startswith(resource.routeConfig, "listener~")])),
		_unknown_configs(resource.config),
	),
} if {
	some resource in input.resources.virtualHost
	startswith(resource.config.name, sprintf("%s~", [resource.routeConfig]))
}

_unknown(message, config, known) := envoy.unknown(message, object.remove(config, known))

_origins(config) := {_policy: object.get(config, ["metadata", "filterMetadata", _merged], {})}

facts contains object.union(
	{
		"vendor": vendor.name,
		"proxy": resource.proxy,
		"target": node,
		"within": [_vhost_key(resource), _routes_key(resource.routeConfig), _listener_key(resource.routeConfig)],
		"needs": [_manager_key(resource.routeConfig)],
		"origins": _origins(resource.config),
		"about": {
			"values": {_policy: _values(envoy.shared(resource))},
			"unknown": _unknown_of_route(envoy.shared(resource)),
		},
	},
	{field: value | some field, value in {"match": envoy.match(object.get(resource.config, "match", {})), "order": resource.order}; source.kind == "HTTPRoute"},
) if {
	some resource in input.resources.route
	source := resource.config.metadata.filterMetadata[_source]
	node := keys.section(keys.format(keys.gateway_api, source.kind, source.namespace, source.name), _section(source.rule))
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"order": resource.order,
	"unread": "routes of this version of kgateway do not name their rules",
} if {
	some resource in input.resources.route
	startswith(resource.virtualHost, sprintf("%s~", [resource.routeConfig]))
	not resource.config.metadata.filterMetadata[_source]
}

_unknown_of_route(route) := array.flatten([
	envoy.unknown_of_route(route),
	[envoy.answers_itself | route.directResponse],
	_unknown_configs(route),
	[text | some one in route.route.weightedClusters.clusters; some text in _unknown_configs(one)],
])

# Filters of a route, of a virtual host or of all routes may answer requests, or keep them from a retry.
_unknown_configs(config) := [sprintf("Policy Bridge doesn't know what the filter %s does", [name]) |
	some name, one in config.typedPerFilterConfig
	not _is_known_config(one)
]

_is_known_config(config) if _is_known(envoy.active_config(config))

# The type decides, as the name is anything. A route may only enable a filter of the connection manager.
_is_known({})

_is_known(config) if envoy.filter_kind(config) in _of_policies

# A filter that another one turns off, which has an effect where a route enables it.
_is_known(config) if {
	envoy.is_of_type(config, "ExtensionWithMatcher")
	envoy.is_of_type(config.extensionConfig.typedConfig, "Composite")
	matchers := config.xdsMatcher.matcherList.matchers
	count(matchers) > 0
	every one in matchers {
		envoy.filter_kind(one.onMatch.action.typedConfig.typedConfig.typedConfig) in {"ext_proc", "jwt_authn"}
	}
}

_is_known(config) if envoy.is_of_type(config, "RouteTransformations")

_is_known(config) if envoy.is_of_type(config, "FilterTransformations")

# Filters for policies of kgateway, and for its backends (pkg/kgateway/extensions2/plugins: trafficpolicy, listenerpolicy, backend).
_of_policies := {
	"api_key_auth", "basic_auth", "buffer", "compressor", "cors", "csrf", "decompressor", "dynamic_forward_proxy", "dynamic_modules",
	"ext_authz", "ext_proc", "fault", "header_mutation", "health_check", "jwt_authn", "local_ratelimit", "oauth2", "rate_limit_quota",
	"ratelimit", "rbac", "router", "set_metadata", "stateful_session",
}

_unknown_filters(manager) := [sprintf("Policy Bridge doesn't know what the filter %s does", [filter.name]) |
	some filter in manager.httpFilters
	not _is_known_filter(filter)
]

_is_known_filter(filter) if _is_known(filter.typedConfig)

# A rule without a name has its place.
_section(rule) := sprintf("[%s]", [trim_prefix(rule, "_rule-")]) if {
	startswith(rule, "_rule-")
} else := rule

# What a route has itself; a virtual host's retries are those of routes without any.
_values(route) := object.union(
	{"/timeouts/request": object.get(route.route, "timeout", null), "/timeouts/streamIdle": object.get(route.route, "idleTimeout", null)},
	_retries(route.route),
) if {
	route.route
} else := {}

_retries(action) := {
	"/retry/attempts": object.get(policy, "numRetries", null),
	"/retry/retryOn": [trigger | some trigger in split(policy.retryOn, ","); trigger != "retriable-status-codes"],
	"/retry/perTryTimeout": object.get(policy, "perTryTimeout", null),
	"/retry/statusCodes": [code | "retriable-status-codes" in split(policy.retryOn, ","); some code in policy.retriableStatusCodes],
} if {
	policy := action.retryPolicy
	policy.retryOn != ""
} else := {}

# Connection managers, by the name of their routes.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _manager_key(manager.rds.routeConfigName),
	"place": [resource.config.name, place],
	"unknown": array.concat(
		envoy.unknown_of_manager(resource.config, chain, manager),
		array.flatten([
			_unknown_filters(manager),
			["Policy Bridge doesn't know which connections get its filter chain" | _has_other_conditions(resource.config)],
			_unknown_port(resource.config, manager.rds.routeConfigName),
		]),
	),
} if {
	some resource in input.resources.listener
	some [place, chain, manager] in envoy.managers(resource.config)
	not contains(manager.rds.routeConfigName, "/")
}

# A chain of the listener takes connections by more than the name of the server.
_has_other_conditions(listener) if {
	some chain in envoy.chains(listener)
	object.keys(object.get(chain, "filterChainMatch", {})) - {"serverNames"} != set()
}

# Routes for HTTP have the port in their name. Former versions listened above the privileged ports.
_unknown_port(listener, routes) := [sprintf("its listener has port %d, not that of the Gateway", [port]) |
	port := listener.address.socketAddress.portValue
	startswith(routes, "listener~")
	own := to_number(trim_prefix(routes, "listener~"))
	not port in {own, own + 8000}
]
