# METADATA
# title: Envoy
# description: What every vendor's rules read of Envoy's configuration. Names of fields are those of JSON.
package bridge.proxies.envoy

# METADATA
# description: The configuration of a part of the query. Many routes and clusters have most of theirs in common.
config(resource) := object.union(shared(resource), resource.config)

# METADATA
# description: |
#   The configuration of a route or a cluster without its own fields, which are `name`, `match`, `metadata` and the name of the
#   cluster. What depends on it only is computed once for all that share it. Undefined fields may be in `resource.config`.
shared(resource) := input.shared[resource.shared] if {
	true
} else := resource.config

# METADATA
# description: The filter chains of a listener, the default one last.
chains(listener) := array.concat(
	object.get(listener, "filterChains", []),
	[listener.defaultFilterChain | listener.defaultFilterChain],
)

# METADATA
# description: The connection managers of a listener, `[place, chain, manager]`; `place` is that of its filter chain.
managers(listener) := [[place, chain, filter.typedConfig] |
	some place, chain in chains(listener)
	some filter in chain.filters
	is_manager(filter)
]

# METADATA
# description: A network filter is a connection manager for HTTP.
is_manager(filter) if endswith(filter.typedConfig["@type"], ".HttpConnectionManager")

# METADATA
# description: |
#   Values for pointers by policy kind that say that the proxy has them in a form that Policy Bridge doesn't recognize. A fact beside it that
#   has one proves nothing then.
unread(pointers) := {kind: {pointer: {"unread": true} | some pointer in listed} | some kind, listed in pointers}

# METADATA
# description: A fraction of requests is always all of them. With a key, runtime settings can change it.
is_always(fraction) if {
	fraction.defaultValue.numerator == 100
	object.get(fraction.defaultValue, "denominator", "HUNDRED") == "HUNDRED"
	not fraction.runtimeKey
}

# The fields of Envoy's messages that the rules read, and those that do not change to which requests a policy applies.
_known := {
	"configuration of routes": {
		"name", "virtualHosts", "ignorePortInHostMatching", "internalOnlyHeaders", "requestHeadersToAdd", "requestHeadersToRemove",
		"responseHeadersToAdd", "responseHeadersToRemove", "mostSpecificHeaderMutationsWins", "validateClusters", "metadata",
		"maxDirectResponseBodySizeBytes", "requestMirrorPolicies",
	},
	"virtual host": {
		"name", "domains", "routes", "metadata", "includeRequestAttemptCount", "includeAttemptCountInResponse",
		"includeIsTimeoutRetryHeader", "requestHeadersToAdd", "requestHeadersToRemove", "responseHeadersToAdd",
		"responseHeadersToRemove", "perRequestBufferLimitBytes", "requestBodyBufferLimit", "requestMirrorPolicies", "virtualClusters",
	},
	"route": {
		"name", "match", "route", "redirect", "directResponse", "metadata", "typedPerFilterConfig", "statPrefix", "decorator", "tracing",
		"requestHeadersToAdd", "requestHeadersToRemove", "responseHeadersToAdd", "responseHeadersToRemove",
		"perRequestBufferLimitBytes", "requestBodyBufferLimit",
	},
	"action of a route": {
		"cluster", "weightedClusters", "clusterNotFoundResponseCode", "timeout", "idleTimeout", "flushTimeout", "maxStreamDuration",
		"upgradeConfigs", "retryPolicy", "hashPolicy", "prefixRewrite", "regexRewrite", "pathRewritePolicy", "pathRewrite",
		"hostRewrite", "hostRewriteLiteral", "hostRewriteHeader", "hostRewritePathRegex", "autoHostRewrite", "appendXForwardedHost",
		"requestMirrorPolicies", "metadataMatch", "priority", "earlyDataPolicy", "rateLimits", "includeVhRateLimits",
	},
	"duration of streams": {"maxStreamDuration"},
	"upgrade": {"upgradeType", "enabled", "connectConfig"},
	"split": {"clusters", "totalWeight", "useHashPolicy", "runtimeKeyPrefix", "headerName"},
	"cluster of a split": {
		"name", "weight", "metadataMatch", "requestHeadersToAdd", "requestHeadersToRemove", "responseHeadersToAdd",
		"responseHeadersToRemove", "typedPerFilterConfig", "hostRewriteLiteral",
	},
	"retry policy": {
		"retryOn", "numRetries", "perTryTimeout", "retriableStatusCodes", "retryBackOff", "retryHostPredicate", "retryPriority",
		"hostSelectionRetryMaxAttempts",
	},
	"back-off": {"baseInterval", "maxInterval"},
	"listener": {
		"name", "address", "additionalAddresses", "statPrefix", "filterChains", "defaultFilterChain", "perConnectionBufferLimitBytes",
		"metadata", "drainType", "listenerFilters", "listenerFiltersTimeout", "continueOnListenerFiltersTimeout", "transparent",
		"freebind", "socketOptions", "tcpFastOpenQueueLength", "trafficDirection", "udpListenerConfig", "enableReusePort",
		"reusePort", "accessLog", "tcpBacklogSize", "maxConnectionsToAcceptPerSocketEvent", "enableMptcp",
		"ignoreGlobalConnLimit", "bypassOverloadManager", "connectionBalanceConfig",
	},
	"filter chain": {"name", "metadata", "filters", "filterChainMatch", "transportSocket", "transportSocketConnectTimeout"},
	"connection manager": {
		"codecType", "statPrefix", "rds", "routeConfig", "httpFilters", "tracing", "commonHttpProtocolOptions",
		"http1SafeMaxConnectionDuration", "httpProtocolOptions", "http2ProtocolOptions", "http3ProtocolOptions", "serverName",
		"serverHeaderTransformation", "schemeHeaderTransformation", "maxRequestHeadersKb", "streamIdleTimeout", "streamFlushTimeout",
		"requestTimeout", "requestHeadersTimeout", "drainTimeout", "delayedCloseTimeout", "accessLog", "accessLogOptions",
		"useRemoteAddress", "xffNumTrustedHops", "originalIpDetectionExtensions", "earlyHeaderMutationExtensions",
		"internalAddressConfig", "skipXffAppend", "via", "generateRequestId", "preserveExternalRequestId",
		"alwaysSetRequestIdInResponse", "forwardClientCertDetails", "setCurrentClientCertDetails", "proxy100Continue",
		"normalizePath", "mergeSlashes", "pathNormalizationOptions", "pathWithEscapedSlashesAction", "requestIdExtension",
		"stripMatchingHostPort", "stripAnyHostPort", "stripTrailingHostDot", "streamErrorOnInvalidHttpMessage", "upgradeConfigs",
		"typedHeaderValidationConfig", "appendXForwardedPort", "addUserAgent", "appendLocalOverload", "proxyStatusConfig",
	},
	"filter for HTTP": {"name", "typedConfig", "configDiscovery", "isOptional", "disabled"},
	"thresholds": {
		"priority", "maxConnections", "maxPendingRequests", "maxRequests", "maxRetries", "trackRemaining", "maxConnectionPools",
	},
	"connection limit": {"statPrefix", "maxConnections", "delay"},
}

# METADATA
# description: Why a message's configuration does not show what applies, a text for each field that Policy Bridge doesn't know.
unknown(message, config) := [sprintf("Policy Bridge doesn't know %s of the %s", [field, message]) |
	some field in ((object.keys(config) - _known[message]) - {"@type"})
]

# METADATA
# description: Why the hosts of a configuration of routes do not show its requests.
unknown_ports(config) := ["Policy Bridge doesn't know which requests with a port in their host it takes" | not config.ignorePortInHostMatching]

# METADATA
# description: Why nothing is known of a rule at a route that sends no requests to a backend.
answers_itself := "the proxy answers the requests of this rule itself"

# METADATA
# description: The same of a route with its action.
unknown_of_route(route) := array.flatten([
	unknown("route", route),
	unknown("action of a route", action),
	unknown("duration of streams", object.get(action, "maxStreamDuration", {})),
	unknown("retry policy", policy),
	unknown("back-off", object.get(policy, "retryBackOff", {})),
	unknown("split", split),
	[text | some one in split.clusters; some text in unknown("cluster of a split", one)],
]) if {
	action := object.get(route, "route", {})
	policy := object.get(action, "retryPolicy", {})
	split := object.get(action, "weightedClusters", {})
}

# METADATA
# description: The same of a connection manager, its filter chain and its listener.
unknown_of_manager(listener, chain, manager) := array.flatten([
	unknown("listener", listener),
	["Policy Bridge doesn't know the port of its listener" | listener.address; not listener.address.socketAddress.portValue], # a pipe
	unknown("filter chain", chain),
	unknown("connection manager", manager),
	[text | some one in manager.upgradeConfigs; some text in unknown("upgrade", one)],
	[text | some one in manager.httpFilters; some text in unknown("filter for HTTP", one)],
])

# METADATA
# description: The filters of a route, of the clusters of its split, of a virtual host or of a configuration of routes, as maps by name.
own_filters(resource) := array.concat(
	[configs | configs := shared(resource).typedPerFilterConfig],
	[configs | configs := shared(resource).route.weightedClusters.clusters[_].typedPerFilterConfig],
)

# METADATA
# description: |
#   The configuration of a filter for a route: that in Envoy's FilterConfig, if it is in one. Undefined if the filter is
#   disabled.
active_config(config) := inner if {
	not config.disabled
	inner := _inner(config)
	not inner.disabled
}

_inner(config) := object.get(config, "config", {}) if {
	is_of_type(config, "FilterConfig")
} else := config

# METADATA
# description: |
#   The kind of an HTTP filter, by the type of its configuration: `ext_authz` of `….filters.http.ext_authz.v3.ExtAuthz`, whatever
#   the name of the filter is. Undefined for others.
filter_kind(config) := split(path, ".")[0] if {
	[_, path] := split(config["@type"], ".filters.http.")
}

# METADATA
# description: A message has this name, the last part of its type.
is_of_type(config, name) if endswith(config["@type"], concat("", [".", name]))

# METADATA
# description: |
#   The conditions of a route's match, `[part, name, type, value]`, sorted: `part` is `path`, `header` or `query`. Null if it
#   has a condition of another form.
match(match) := sort(array.flatten([
	[["path", "", path[0], path[1]]],
	[["header", lower(one.name), value[0], value[1]] | some one in headers; value := _value(one)],
	[["query", one.name, value[0], value[1]] | some one in parameters; value := _value(one)],
])) if {
	count(object.keys(match) & _path_fields) == 1
	path := _path(match)
	object.keys(match) - (_path_fields | {"headers", "queryParameters"}) == set()
	headers := object.get(match, "headers", [])
	parameters := object.get(match, "queryParameters", [])
	every one in array.concat(headers, parameters) {
		_value(one)
	}
} else := null

_path_fields := {"path", "prefix", "pathSeparatedPrefix", "safeRegex"}

_path(match) := ["Exact", match.path]

_path(match) := ["PathPrefix", "/"] if {
	match.prefix == "/"
}

_path(match) := ["PathPrefix", match.pathSeparatedPrefix]

_path(match) := ["RegularExpression", match.safeRegex.regex]

# A text is compared as it is, or by a regular expression.
_value(one) := ["Exact", one.stringMatch.exact] if {
	object.keys(one) == {"name", "stringMatch"}
	object.keys(one.stringMatch) == {"exact"}
}

_value(one) := ["RegularExpression", one.stringMatch.safeRegex.regex] if {
	object.keys(one) == {"name", "stringMatch"}
	object.keys(one.stringMatch) == {"safeRegex"}
}

_value(one) := ["Suffix", one.stringMatch.suffix] if {
	object.keys(one) == {"name", "stringMatch"}
	object.keys(one.stringMatch) == {"suffix"}
}

# METADATA
# description: |
#   The places of the matches of a virtual host, in their order, whose requests an earlier one takes, or may take: Envoy takes
#   the first that matches. If the rules cannot read a match, the path decides alone.
taken(matches) := {place |
	asked := [_asked(one) | some one in matches]
	last := count(asked) - 1
	takers := object.union_n([{one.at: {one.first: {json.marshal(one.rest): place}}} | # the first of each kind of match
		some reversed, _ in asked
		place := last - reversed
		one := asked[place]
	])
	lengths := {length | some at, _ in takers; startswith(at, _loose); length := count(at) - count(_loose)}
	some place, one in asked
	one.rest != null
	some at in _places_of_takers(one, lengths)
	some first in array.concat([""], [json.marshal(condition) | some condition in one.rest])
	some taker in takers[at][first]
	taker < place
	_takes(asked[taker], one)
}

# METADATA
# description: |
#   The places of matches of a virtual host that come after one of `strays`, the places of routes that belong to no rule, which may
#   take a part of their requests.
overlapped(_, []) := set()

overlapped(matches, strays) := {place | some place, _ in matches; place > min(strays)} if {
	count(strays) > _compared_strays
}

overlapped(matches, strays) := {place |
	asked := [_asked(one) | some one in matches]
	some stray in strays
	some place, one in asked
	place > stray
	not _are_apart(asked[stray], one)
} if {
	count(strays) > 0
	count(strays) <= _compared_strays
}

# With more of them, each may take a part of all.
_compared_strays := 100

_are_apart(one, other) if _paths_differ(one.path, other.path)

_are_apart(one, other) if _paths_differ(other.path, one.path)

_are_apart(one, other) if {
	some condition in _read_conditions(one.rest)
	some another in _read_conditions(other.rest)
	array.slice(condition, 0, 3) == array.slice(another, 0, 3)
	condition[2] == "Exact"
	condition[3] != another[3]
}

# No request has both paths. Of some forms the rules cannot tell.
_paths_differ([_, _, "Exact", path], [_, _, type, value]) if not _has_path(type, value, path)

_paths_differ([_, _, "PathPrefix", path], [_, _, "PathPrefix", value]) if {
	not _is_at_or_below(path, value)
	not _is_at_or_below(value, path)
}

_paths_differ([_, _, "PathPrefix", path], [_, _, "Unread", written]) if {
	not startswith(path, written.prefix)
	not startswith(written.prefix, path)
}

_paths_differ([_, _, "PathPrefix", path], [_, _, "Unread", written]) if not _is_at_or_below(written.path, path)

_paths_differ([_, _, "PathPrefix", path], [_, _, "Unread", written]) if {
	value := written.pathSeparatedPrefix
	not _is_at_or_below(path, value)
	not _is_at_or_below(value, path)
}

_loose := "begins with "

# What a match asks: `at` is where takers of its requests are looked up, with the first of its conditions on headers and
# parameters; `witnesses` are paths that match.
_asked(written) := {
	"at": concat(" ", [path[2], path[3]]),
	"path": path,
	"rest": rest,
	"first": _first(rest),
	"witnesses": _witnesses(path[2], path[3]),
} if {
	conditions := match(written)
	[path] := [one | some one in conditions; one[0] == "path"]
	path[2] != "RegularExpression"
	rest := [one | some one in conditions; one[0] != "path"]
} else := {
	"at": concat("", [_loose, literal]),
	"path": path,
	"rest": rest,
	"first": _first(rest),
	"witnesses": _witnesses("PathPrefix", literal),
} if {
	conditions := match(written)
	[path] := [one | some one in conditions; one[0] == "path"]
	rest := [one | some one in conditions; one[0] != "path"]
	literal := regex.find_n(`^[A-Za-z0-9/_~-]*`, path[3], 1)[0]
} else := {
	"at": _loose,
	"path": ["path", "", "Unread", written],
	"rest": null,
	"first": "",
	"witnesses": [],
}

_witnesses("Exact", path) := [path]

_witnesses("PathPrefix", path) := [path, sprintf("%s/-", [trim_suffix(path, "/")])]

# A condition by a regular expression may include others.
_first(rest) := json.marshal(rest[0]) if {
	count(rest) > 0
	every one in rest {
		one[2] == "Exact"
	}
} else := ""

_places_of_takers(one, lengths) := array.concat(
	[at | some at in array.concat([sprintf("Exact %s", [one.witnesses[0]]), "PathPrefix /"], [sprintf("PathPrefix %s", [above]) | some above in _above(one.witnesses[0])])],
	[concat("", [_loose, substring(one.witnesses[0], 0, length)]) | some length in lengths; length <= count(one.witnesses[0])],
)

# The paths above a path, and itself.
_above(path) := [concat("/", array.slice(parts, 0, number)) | parts := split(path, "/"); some number in numbers.range(2, count(parts))]

_takes(earlier, one) if {
	every condition in _read_conditions(earlier.rest) {
		_is_implied(condition, one.rest)
	}
	every path in one.witnesses {
		_has_path(earlier.path[2], earlier.path[3], path)
	}
}

_read_conditions(null) := []
_read_conditions(rest) := rest if is_array(rest)

_is_implied(condition, rest) if condition in rest

_is_implied(condition, rest) if {
	condition[2] == "RegularExpression"
	some [part, name, "Exact", value] in rest
	[part, name] == [condition[0], condition[1]]
	_matches(value, condition[3])
}

_has_path("Exact", value, path) if path == value

_has_path("PathPrefix", value, path) if _is_at_or_below(path, value)

_has_path("RegularExpression", pattern, path) if _matches(path, pattern)

_has_path("Unread", written, path) if startswith(path, written.prefix)

_has_path("Unread", written, path) if path == written.path

_has_path("Unread", written, path) if _is_at_or_below(path, written.pathSeparatedPrefix)

_has_path("Unread", written, path) if _matches(path, written.safeRegex.regex)

_has_path("Unread", written, _) if count(object.keys(written) & _path_fields) == 0

_is_at_or_below(path, value) if startswith(sprintf("%s/", [path]), sprintf("%s/", [trim_suffix(value, "/")]))

_matches(text, pattern) if regex.match(sprintf("^(?:%s)$", [pattern]), text)
