# METADATA
# title: Envoy
# description: What every vendor's rules read of Envoy's configuration. Names of fields are those of JSON.
package bridge.proxies.envoy

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
# description: A fraction of requests is always all of them. With a key, runtime settings can change it.
is_always(fraction) if {
	fraction.defaultValue.numerator == 100
	object.get(fraction.defaultValue, "denominator", "HUNDRED") == "HUNDRED"
	not fraction.runtimeKey
}

# METADATA
# description: |
#   The conditions of a route's match, `[part, name, type, value]`, sorted: `part` is `path`, `header` or `query`. Null if it
#   has a condition of another form.
match(match) := sort(array.flatten([
	[["path", "", path[0], path[1]]],
	[["header", lower(one.name), value[0], value[1]] | some one in headers; value := _value(one)],
	[["query", one.name, value[0], value[1]] | some one in parameters; value := _value(one)],
])) if {
	path := _path(match)
	object.keys(match) - {"path", "prefix", "pathSeparatedPrefix", "safeRegex", "headers", "queryParameters"} == set()
	headers := object.get(match, "headers", [])
	parameters := object.get(match, "queryParameters", [])
	every one in array.concat(headers, parameters) {
		_value(one)
	}
} else := null

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
