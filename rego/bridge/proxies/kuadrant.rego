# METADATA
# title: Kuadrant's filter
# description: |
#   Facts from the configuration of Kuadrant's filter in the proxies of Istio and Envoy Gateway. A set of actions has the hash
#   of its path as its name, and actions name their policies. Limits and rules themselves are in Limitador and Authorino.
package bridge.proxies.kuadrant

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.proxies.envoy
import data.bridge.proxies.envoy_gateway
import data.bridge.proxies.istio

_kinds := {lower(concat(".", [kind, "kuadrant.io"])): concat("/", ["kuadrant.io", kind]) |
	some kind in ["AuthPolicy", "RateLimitPolicy", "TokenRateLimitPolicy"]
}

_routes := [concat("/", [keys.gateway_api, kind]) | some kind in ["HTTPRoute", "GRPCRoute"]]

# METADATA
# description: The vendor; see `docs/reference/proxies.md` for the form of `vendor` and `facts`.
vendor := {
	"name": "Kuadrant",
	"targets": _routes,
	"section": "listeners",
	"names": "all",
	"fields": {kind: {} | some kind in _kinds},
	"elsewhere": {kind: {"": where} | some name, where in _elsewhere; kind := _kinds[name]},
}

_elsewhere := {
	"authpolicy.kuadrant.io": "Authorino has the rules, not the proxy",
	"ratelimitpolicy.kuadrant.io": "Limitador has the limits, not the proxy",
	"tokenratelimitpolicy.kuadrant.io": "Limitador has the limits, not the proxy",
}

_filter := "filter of Kuadrant"

_managers := "connection managers with routes"

_overrides := "filters of routes"

# Gateways whose proxies should have the filter.
facts contains {"vendor": vendor.name, "proxy": fact.proxy, "covers": fact.covers} if {
	_is_used
	some fact in (istio.facts | envoy_gateway.facts)
	keys.type_of(fact.covers) == concat("/", [keys.gateway_api, "Gateway"])
}

_is_used if {
	some kind in _kinds
	count(lookup.keys_of(kind)) > 0
}

# Each connection manager needs the filter.
facts contains {"vendor": vendor.name, "proxy": resource.proxy, "key": _managers, "place": [resource.config.name, place]} if {
	some [resource, place, _] in _managers_of_gateways
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _filter,
	"among": _managers,
	"place": [resource.config.name, place],
	"unknown": array.concat(["its filter is off at the listener" | filter.disabled], _unknown_before(manager, position)),
} if {
	some [resource, place, manager] in _managers_of_gateways
	some position, filter in manager.httpFilters
	_plugin(filter)
}

# Filters before it may answer requests.
_unknown_before(manager, position) := [sprintf("Policy Bridge doesn't know what the filter %s does", [filter.name]) |
	some filter in array.slice(manager.httpFilters, 0, position)
	not istio.is_known_filter(filter)
	not envoy_gateway.is_known_filter(filter)
	not _plugin(filter)
]

# Parts of routes that may turn the filter off.
facts contains {"vendor": vendor.name, "proxy": resource.proxy, "key": _overrides, "unknown": unknown} if {
	_is_used
	some type in ["routes", "virtualHost", "route"]
	some resource in input.resources[type]
	unknown := [sprintf("Policy Bridge doesn't know the filter %s of a route", [name]) |
		some configs in envoy.own_filters(resource)
		some name, config in configs
		regex.match(`wasm|kuadrant`, name)
		not envoy.active_config(config)
	]
	unknown != []
}

facts contains {"vendor": vendor.name, "proxy": resource.proxy, "key": _overrides, "unknown": []} if {
	some [resource, _, _] in _managers_of_gateways
}

# Those of listeners with a name; proxies of Envoy Gateway have one more, for probes.
_managers_of_gateways := [[resource, place, manager] |
	_is_used
	some resource in input.resources.listener
	not startswith(resource.config.name, "envoy-gateway-proxy-ready")
	some [place, _, manager] in envoy.managers(resource.config)
]

# The configuration of a filter that is Kuadrant's.
_plugin(filter) := plugin if {
	plugin := _object(_wasm(filter.typedConfig).config.configuration.value)
	plugin.actionSets
}

_wasm(config) := config if {
	envoy.is_of_type(config, "Wasm")
} else := config.value if {
	endswith(config.typeUrl, ".Wasm")
}

_object(value) := value if is_object(value)

_object(value) := json.unmarshal(value) if is_string(value)

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"target": place.target,
	"via": place.via,
	"needs": [_filter],
	"names": {kind: [policy | some action in set.actions; not action.predicate == "false"; some source in action.sources; policy := _policy(kind, source)] |
		some kind in _kinds
	},
	"refers": [_filter, _overrides],
	"unknown": array.concat(
		["its actions are for other requests than those of the rule" | not _is_for(set, place)],
		["Policy Bridge doesn't compare the conditions of its actions" | _has_conditions(set)],
	),
	"updated": object.get(resource, "updated", ""),
} if {
	some [resource, set] in _action_sets
	place := _places[set.name]
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"unread": "Policy Bridge doesn't know to which rules all actions of Kuadrant's filter belong",
} if {
	some [resource, set] in _action_sets
	not _places[set.name]
}

_has_conditions(set) if {
	some action in set.actions
	not object.get(action, "predicate", "true") in {"true", "false"}
}

_has_conditions(set) if count(set.actions[_].predicates) > 0

_has_conditions(set) if count(set.actions[_].conditionalData[_].predicates) > 0

# The conditions of a set are those of its place, as far as they name the hostname and the path.
_is_for(set, place) if {
	conditions := object.get(set, "routeRuleConditions", {})
	place.host in conditions.hostnames
	predicates := object.get(conditions, "predicates", [])
	every predicate in predicates {
		predicate in place.predicates
	}
	{predicate | some predicate in place.predicates; not _is_of_path(predicate)} == {predicate | some predicate in predicates; not _is_of_path(predicate)}
}

_is_of_path(predicate) if startswith(predicate, "request.url_path")

_action_sets := [[resource, set] |
	some [resource, _, manager] in _managers_of_gateways
	some filter in manager.httpFilters
	some set in _plugin(filter).actionSets
]

# A source is `ratelimitpolicy.kuadrant.io:<namespace>/<name>`, with `#` in former versions.
_policy(kind, source) := concat("/", [kind, parts[1]]) if {
	parts := regex.split(`[:#]`, source)
	count(parts) == 2
	_kinds[parts[0]] == kind
}

# The rules and listeners of the paths from classes to rules, by the name of a set of actions: the hash of the path, of the
# place of the match, and of the hostname.
_places := {crypto.sha256(sprintf("%s|%d|%s", [id, place + 1, host])): {
	"target": path[count(path) - 1],
	"via": path[count(path) - 3],
	"host": host,
	"predicates": _predicates(type, match),
} |
	some type in _routes
	some route in lookup.keys_of(type)
	some position, name in hierarchy.section_names(route)
	rule := lookup.get(route).spec.rules[position]
	some path in hierarchy.paths(keys.section(route, name), false)
	count(path) == 5
	some host in _hosts(path[2], route)
	some place, match in hierarchy.written_matches(rule)
	some id in {_id(path, name), _id(path, sprintf("rule-%d", [position + 1]))}
}

# The conditions of a match as Kuadrant writes them (its operator's `PredicatesFromHTTPRouteMatch` and its like).
_predicates(type, match) := array.flatten([
	[_path_predicate(type, match)],
	[sprintf("request.method == '%s'", [match.method]) | is_string(match.method)],
	[sprintf("request.headers.exists(h, h.lowerAscii() == '%s' && request.headers[h] == '%s')", [lower(one.name), one.value]) | some one in match.headers],
	[sprintf("'%[1]s' in queryMap(request.query) ? queryMap(request.query)['%[1]s'] == '%[2]s' : false", [one.name, one.value]) | some one in match.queryParams],
])

_path_predicate("gateway.networking.k8s.io/HTTPRoute", match) := sprintf(form, [object.get(match, ["path", "value"], "/")]) if {
	form := {
		"Exact": "request.url_path == '%s'",
		"PathPrefix": "request.url_path.startsWith('%s')",
		"RegularExpression": "request.url_path.matches('%s')",
	}[object.get(match, ["path", "type"], "PathPrefix")]
}

_path_predicate("gateway.networking.k8s.io/GRPCRoute", match) := sprintf("request.url_path == '/%s/%s'", [match.method.service, match.method.method]) if {
	object.get(match.method, "type", "Exact") == "Exact"
} else := sprintf("request.url_path.startsWith('/%s/')", [match.method.service]) if {
	object.get(match.method, "type", "Exact") == "Exact"
} else := "request.url_path is not compared"

_id(path, rule) := concat("|", array.concat([_name(node) | some node in array.slice(path, 0, 4)], [sprintf("%s#%s", [_name(path[3]), rule])]))

_name(node) := trim_prefix(concat("#", [one | some one in [sprintf("%s/%s", [parts.namespace, parts.name]), parts.section]; one != ""]), "-/") if {
	parts := keys.parse(node)
}

_hosts(listener, route) := {host |
	some host in hierarchy.common_hostnames(object.get(lookup.get(route).spec, "hostnames", []), object.get(hierarchy.listener(listener), "hostname", ""))
}
