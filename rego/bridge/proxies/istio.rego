# METADATA
# title: Istio's proxies
# description: |
#   Facts from the configuration that Istio makes for Gateways and waypoints. The node in the bootstrap has the labels of its
#   Pod, and with them the Gateway; filters for authorization name their policies and rules.
package bridge.proxies.istio

import data.bridge.lib.keys
import data.bridge.proxies.envoy

_authorization := "security.istio.io/AuthorizationPolicy"
_authentication := "security.istio.io/RequestAuthentication"

# METADATA
# description: The vendor; see `docs/reference/proxies.md` for the form of `vendor` and `facts`.
vendor := {
	"name": "Istio",
	"targets": [concat("/", [keys.gateway_api, "Gateway"]), concat("/", [keys.gateway_api, "GatewayClass"]), "core/Service"],
	# A waypoint has the policies that name the Service; those that select its Pods are in the proxies of the Pods.
	"partly": {"core/Service": ["targetRefs", "targetRef"]},
	"fields": {
		_authorization: {
			"/action": {"form": "Value", "default": "ALLOW"},
			"/rules": {"form": "Items", "fields": ["from", "to"], "unless": ["when"], "whole": true, "default": []},
		},
		_authentication: {"/jwtRules": {
			"form": "ItemsAmong",
			"fields": ["issuer", "audiences", "fromParams", "fromCookies", "forwardOriginalToken", "outputPayloadToHeader"],
			"whole": true,
			"together": true,
			"unread": ["keys"],
		}},
	},
	"pods": {controller: {"port": 15000, "selections": [{"namespace": "{namespace}", "labels": {_gateway_label: "{name}"}}]} |
		some controller in ["istio.io/gateway-controller", "istio.io/mesh-controller", "openshift.io/gateway-controller/v1"]
	},
}

_gateway_label := "gateway.networking.k8s.io/gateway-name"

_class_label := "gateway.networking.k8s.io/gateway-class-name"

_managers := "connection managers"

_node := "node"

_overrides := "filters of routes"

_chain_key(service) := sprintf("filter chains of %s", [service])

# The Gateway of a proxy that Istio deployed for it, and its class.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"target": place,
	"via": place,
	"covers": place,
	"refers": [_managers, _node, _overrides],
} if {
	some resource in input.resources.bootstrap
	some place in _places(resource)
}

_places(resource) := array.concat(
	[_gateway_of(resource)],
	[keys.format(keys.gateway_api, "GatewayClass", "", class) | class := resource.config.node.metadata.LABELS[_class_label]],
)

# Each Service of a waypoint has the policies of the Gateway, and of its class, too.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _node,
	"beside": _places(resource),
} if {
	some resource in input.resources.bootstrap
	_gateway_of(resource)
}

_gateway_of(resource) := keys.format(keys.gateway_api, "Gateway", metadata.NAMESPACE, metadata.LABELS[_gateway_label]) if {
	metadata := resource.config.node.metadata
	metadata.ISTIO_VERSION
}

# The chains of a Gateway's listeners, and those of a waypoint for requests to Pods.
facts contains object.union(_of_chain(chain), {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _managers,
	"name": resource.config.name,
	"place": place,
	"updated": object.get(resource, "updated", ""),
}) if {
	some resource in input.resources.listener
	not _is_tunnel(resource.config)
	some place, chain in envoy.chains(resource.config)
	not _is_of_service(chain)
	_has_manager(chain)
}

# Those of a waypoint, one for each port of a Service.
facts contains object.union(_of_chain(chain), {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _managers,
	"name": resource.config.name,
	"place": place,
	"beside": [service],
	"updated": object.get(resource, "updated", ""),
}) if {
	some resource in input.resources.listener
	some [place, chain, service] in _service_chains(resource)
}

facts contains object.union(_of_chain(chain), {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _chain_key(service),
	"place": place,
	"updated": object.get(resource, "updated", ""),
}) if {
	some resource in input.resources.listener
	some [place, chain, service] in _service_chains(resource)
}

facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"target": service,
	"via": service,
	"covers": service,
	"refers": [_chain_key(service), _node, _overrides],
} if {
	some resource in input.resources.listener
	some [_, _, service] in _service_chains(resource)
}

# The listeners that only carry connections to and from the one of a waypoint that has the policies.
_is_tunnel(listener) if listener.name in {"connect_terminate", "connect_originate", "inner_connect_originate", "outer_connect_originate"}

_is_of_service(chain) if startswith(chain.name, "inbound-vip|")

_service_chains(resource) := [[place, chain, keys.format("core", "Service", parts[2], parts[1])] |
	resource.config.name == "main_internal"
	some place, chain in envoy.chains(resource.config)
	_has_manager(chain)
	[parts] := regex.find_all_string_submatch_n(`^inbound-vip\|[^|]*\|[^|]*\|([^.|]+)\.([^.|]+)\.svc\.`, chain.name, 1)
]

# The filters that decide on requests. Chains for connections have rules without the fields of HTTP, which prove nothing.
_has_manager(chain) if {
	some one in chain.filters
	envoy.is_manager(one)
}

_filters(chain) := [filter | some one in chain.filters; envoy.is_manager(one); some filter in one.typedConfig.httpFilters]

# Parts of routes that have filters of their own: Istio gives them none for authorization or tokens.
facts contains {
	"vendor": vendor.name,
	"proxy": resource.proxy,
	"key": _overrides,
	"unknown": unknown,
} if {
	some type in ["routes", "virtualHost", "route"]
	some resource in input.resources[type]
	unknown := _unknown_overrides(resource)
}

facts contains {"vendor": vendor.name, "proxy": resource.proxy, "key": _overrides, "unknown": []} if {
	some resource in input.resources.bootstrap
	_gateway_of(resource)
}

_unknown_overrides(resource) := unknown if {
	not contains(object.get(resource, "routeConfig", object.get(resource.config, "name", "")), "/") # as Envoy Gateway names them
	unknown := [sprintf("Policy Bridge doesn't know the filter %s of a route", [name]) |
		some configs in envoy.own_filters(resource)
		some name, config in configs
		_changes_policies(config)
	]
	count(unknown) > 0
}

_changes_policies(config) if {
	some name in ["RBACPerRoute", "PerRouteConfig", "FilterConfig", "ExtAuthzPerRoute"]
	envoy.is_of_type(config, name)
}

_of_chain(chain) := {
	"unknown": _unknown_of_chain(chain),
	"names": {_authorization: [policy | some policy, _ in policies]},
	"values": object.union({_authentication: {"/jwtRules": _jwt_rules(filters)}}, {policy: _of_policy(rules) | some policy, rules in policies}),
} if {
	filters := _filters(chain)
	policies := {policy: {[rule.place, rule.action, rule.config] | some rule in rules; rule.policy == policy} |
		rules := _rules(filters)
		some one in rules
		policy := one.policy
	}
}

# What changes the requests to which a chain's policies apply, or lets requests pass beside them.
_unknown_of_chain(chain) := array.flatten([
	[text |
		some one in chain.filters
		envoy.is_manager(one)
		some text in envoy.unknown_of_manager({}, {}, one.typedConfig)
	],
	[sprintf("Policy Bridge doesn't know what the filter %s does", [filter.name]) |
		filters := _filters(chain)
		last := max([place | some place, filter in filters; _decides(filter)])
		some place, filter in filters
		place < last
		not is_known_filter(filter)
	],
	[sprintf("Policy Bridge doesn't know %s of the filter for authorization", [name]) |
		some filter in _filters(chain)
		envoy.is_of_type(filter.typedConfig, "RBAC")
		some name in (object.keys(filter.typedConfig) - _of_rbac)
	],
	[sprintf("Policy Bridge doesn't know the policy %s", [name]) |
		some filter in _filters(chain)
		envoy.is_of_type(filter.typedConfig, "RBAC")
		some name, _ in filter.typedConfig.rules.policies
		not startswith(name, "ns[")
	],
])

_decides(filter) if envoy.is_of_type(filter.typedConfig, "RBAC")

_decides(filter) if envoy.is_of_type(filter.typedConfig, "JwtAuthentication")

# METADATA
# description: A filter is one of those that Istio has before those that decide. Others may answer requests.
is_known_filter(filter) if regex.replace(filter.typedConfig["@type"], `^.*[./]`, "") in _known_filters

# Messages of many filters have these names.
is_known_filter(filter) if {
	type := filter.typedConfig["@type"]
	regex.match(`\.(Filter)?Config$`, type)
	regex.match(`[./](istio|grpc_stats|set_filter_state|set_metadata)\.`, type)
}

_known_filters := {
	"RBAC", "JwtAuthentication", "ExtAuthz", "Cors", "HTTPFault", "GrpcWeb", "PluginConfig", "StatefulSession", "Set", "HeaderMutation",
	"Compressor", "Decompressor", "ConnectAuthority", "Baggage",
}

_of_rbac := {
	"@type", "rules", "shadowRules", "rulesStatPrefix", "shadowRulesStatPrefix", "trackPerRuleStats",
}

# The rules of filters for authorization: `{policy, place, action, config}`. Rules in shadow are of policies that are tried,
# and of those that ask a provider, whose filter decides by them.
_rules(filters) := {rule |
	some order, filter in filters
	endswith(filter.typedConfig["@type"], ".RBAC")
	not filter.disabled
	some [part, custom] in [["rules", false], ["shadowRules", true]]
	some name, config in filter.typedConfig[part].policies
	[found] := regex.find_all_string_submatch_n(`^(istio-ext-authz-.*-)?ns\[([^\]]+)\]-policy\[([^\]]+)\]-rule\[([0-9]+)\]$`, name, 1)
	is_custom := startswith(found[1], "istio-ext-authz-")
	custom == is_custom
	_has_effect(custom, name, object.get(filter.typedConfig, "shadowRulesStatPrefix", ""), array.slice(filters, order, count(filters)))
	rule := {
		"policy": keys.format("security.istio.io", "AuthorizationPolicy", found[2], found[3]),
		"place": to_number(found[4]),
		"action": _action(custom, object.get(filter.typedConfig[part], "action", "ALLOW")),
		"config": config,
	}
}

# A later filter asks the provider about the requests that the rules of its policies match.
_has_effect(false, _, _, _)

_has_effect(true, name, prefix, later) if {
	some filter in later
	envoy.is_of_type(filter.typedConfig, "ExtAuthz")
	not filter.disabled
	not filter.typedConfig.filterEnabled
	_is_enabled_for(object.get(filter.typedConfig, "filterEnabledMetadata", {}), name, prefix)
}

_is_enabled_for({}, _, _)

_is_enabled_for(matcher, name, prefix) if {
	object.remove(matcher, ["value"]) == {"filter": "envoy.filters.http.rbac", "path": [{"key": sprintf("%sshadow_effective_policy_id", [prefix])}]}
	object.keys(matcher.value.stringMatch) == {"prefix"}
	startswith(name, matcher.value.stringMatch.prefix)
}

_action(true, _) := "CUSTOM"

_action(false, name) := {"ALLOW": "ALLOW", "DENY": "DENY", "LOG": "AUDIT"}[name]

_of_policy(rules) := object.union({"/action": _only({rule[1] | some rule in rules})}, _of_rules(rules))

_only(values) := [value | some value in values][0] if {
	count(values) == 1
} else := [value | some value in values]

# The rules of a policy, where all can be read. A policy without rules has one that matches no request.
_of_rules(rules) := {"/rules": []} if {
	[config] := [rule[2] | some rule in rules]
	config.permissions == [{"notRule": {"any": true}}]
} else := {"/rules": [item | some item in items]} if {
	items := [item | some [place, _, config] in sort([rule | some rule in rules]); item := _item(config)]
	count(items) == count(rules)
	[rule[0] | some rule in sort([rule | some rule in rules])] == numbers.range(0, count(rules) - 1)
} else := envoy.unread({_authorization: ["/rules"]})[_authorization]

_item(config) := object.union(_list("to", to), _list("from", from)) if {
	object.keys(config) - {"permissions", "principals"} == set()
	to := [parts | some one in config.permissions; parts := _operation(one.andRules.rules)]
	count(to) == count(config.permissions)
	from := [parts | some one in config.principals; parts := _source(one.andIds.ids)]
	count(from) == count(config.principals)
}

_list(name, items) := {} if {
	items == [{}]
} else := {name: [{{"to": "operation", "from": "source"}[name]: item} | some item in items]}

_operation([{"any": true}]) := {}

_operation(rules) := object.union_n(fields) if {
	fields := [field | some rule in rules; field := _operation_field(rule)]
	count(fields) == count(rules)
	count(object.union_n(fields)) == count(fields)
}

_operation_field(rule) := {name: values} if {
	object.keys(rule) == {"orRules"}
	[name, values] := _values_of(rule.orRules.rules)
}

_operation_field(rule) := {sprintf("not%s%s", [upper(substring(name, 0, 1)), substring(name, 1, -1)]): values} if {
	object.keys(rule) == {"notRule"}
	[name, values] := _values_of(rule.notRule.orRules.rules)
}

_values_of(rules) := [name, [value[1] | some value in values]] if {
	values := [value | some rule in rules; value := _operation_value(rule)]
	count(values) == count(rules)
	[name] := [name | some name in {value[0] | some value in values}]
}

_operation_value(rule) := [_headers[rule.header.name], value] if {
	object.keys(rule) == {"header"}
	value := _pattern(rule.header)
}

_operation_value(rule) := ["paths", _text(rule.urlPath.path)] if object.keys(rule) == {"urlPath"}

_operation_value(rule) := ["ports", sprintf("%d", [rule.destinationPort])] if object.keys(rule) == {"destinationPort"}

_headers := {":method": "methods", ":authority": "hosts"}

# Case is ignored in hostnames only (RFC 9110, section 4.2.3).
_pattern(header) := _text(header.stringMatch) if {
	object.keys(header) == {"name", "stringMatch"}
	header.name != ":authority"
}

_pattern(header) := _text(object.remove(header.stringMatch, ["ignoreCase"])) if {
	object.keys(header) == {"name", "stringMatch"}
	header.name == ":authority"
}

_pattern(header) := "*" if {
	object.keys(header) == {"name", "presentMatch"}
	header.presentMatch
}

_text(match) := sprintf(_forms[name], [match[name]]) if {
	[name] := [name | some name, _ in match]
}

_forms := {"exact": "%s", "prefix": "%s*", "suffix": "*%s"}

_source([{"any": true}]) := {}

_source([one]) := {"namespaces": values} if {
	values := [value | some id in one.orIds.ids; value := _namespace(id)]
	count(values) == count(one.orIds.ids)
}

_source([one]) := {"notNamespaces": values} if {
	values := [value | some id in one.notId.orIds.ids; value := _namespace(id)]
	count(values) == count(one.notId.orIds.ids)
}

_namespace(id) := found[1] if {
	[found] := regex.find_all_string_submatch_n(`^\.\*/ns/([a-z0-9-]+)/\.\*$`, _principal(id).safeRegex.regex, 1)
}

_principal(id) := id.authenticated.principalName if object.keys(id) == {"authenticated"}

_principal(id) := id.filterState.stringMatch if {
	object.keys(id) == {"filterState"}
	id.filterState.key == "io.istio.peer_principal"
}

# The rules for JWTs of all policies. A filter that does not ask for each of its providers has none.
_jwt_rules(filters) := [_jwt_rule(provider) |
	some filter in filters
	endswith(filter.typedConfig["@type"], ".JwtAuthentication")
	not filter.disabled
	_asks_for_all(filter.typedConfig)
	some provider in filter.typedConfig.providers
]

_jwt_rule(provider) := object.filter(rule, [name | some name, value in rule; not value in {"", false, []}]) if {
	rule := {
		"issuer": object.get(provider, "issuer", ""),
		"audiences": object.get(provider, "audiences", []),
		"fromParams": object.get(provider, "fromParams", []),
		"fromCookies": object.get(provider, "fromCookies", []),
		"forwardOriginalToken": object.get(provider, "forward", false),
		"outputPayloadToHeader": object.get(provider, "forwardPayloadHeader", ""),
	}
}

_asks_for_all(config) if {
	config.rules == [{"match": {"prefix": "/"}, "requires": _requirement(sort([name | some name, _ in config.providers]))}]
}

_requirement([name]) := _one_of(name)

_requirement(names) := {"requiresAny": {"requirements": array.concat(
	[{"providerName": name} | some name in names],
	[{"requiresAll": {"requirements": [_one_of(name) | some name in names]}}],
)}} if {
	count(names) > 1
}

# A request without a token is let through; one with another token is not.
_one_of(name) := {"requiresAny": {"requirements": [{"providerName": name}, {"allowMissing": {}}]}}
