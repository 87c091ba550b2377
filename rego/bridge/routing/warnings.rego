package bridge.routing

import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.request as requests
import data.bridge.table

# METADATA
# description: |
#   Warnings about the result at an entry point where a rule serves the request, `{reason, message}`: some data planes respond
#   differently, or filters of the listener may change the request before a route is selected.
warnings(node) := array.flatten([
	warnings_without_a_rule(node),
	table.listeners[node].warnings,
	[_pattern_warning | has_pattern_first(node)],
	[warning | warning := _weight_warning(node)],
])

# One of several routes that match has a weight, which decides first if the controller is set so.
_weight_warning(node) := {"reason": "RouteWeight", "message": sprintf(
	"%s has the annotation kgateway.dev/route-weight: it precedes other routes that match if weighted routes are on in kgateway's settings",
	[keys.describe(weighted[0])],
)} if {
	weighted := weighted_routes(node)
	count(weighted) > 0
}

# METADATA
# description: The warnings where no rule serves the request.
warnings_without_a_rule(node) := array.concat(path_warnings, [warning | warning := _reading_warning(node)])

_pattern_warning := {"reason": "PatternBeforePrefix", "message": "Envoy Gateway puts regular expressions before prefixes: other implementations may choose another rule"}

# METADATA
# description: |
#   The warning that data planes may choose a rule by another path (RFC 3986, 6.2.2: dot segments and encoded characters that
#   need no encoding; also empty segments): Gateway API leaves it to them. Envoy Gateway's proxies do all of it.
path_warnings := [{"reason": "PathNotNormal", "message": message} |
	requests.request.protocol in {"HTTP", "HTTPS"}
	regex.match(_not_normal, requests.request.path)
	message := sprintf("Data planes may normalize the path %s before they choose a rule: request its normal form too", [requests.request.path])
]

_not_normal := `//|/\.\.?(/|$)|\\|%(2[dDeEfF]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[cCfF]|7[eE])`

# The answer differs between Gateway API's text and implementations with virtual hosts: rules of the next hostname serve
# requests that the first does not match (HTTPRouteSpec.hostnames), but virtual hosts have no next one. If the Gateway's
# implementation is known, the answer is that of the implementation.
_reading_warning(node) := {"reason": "SpecificationDiffers", "message": _specification_message(other, implementation(node).name)} if {
	implementation(node).virtualHosts
	requests.names_host
	not has_pattern_first(node)
	other := _other_rule(node, implementations.specification)
	other != rule_by(node, implementation(node))
} else := _more_specific(node) if {
	true
} else := {"reason": "MoreSpecificHostname", "message": _virtual_host_message(other)} if {
	not implementation(node).virtualHosts
	_may_differ(node)
	other := _other_rule(node, implementations.envoy)
	other != rule_by(node, implementations.specification)
}

_other_rule(node, reading) := rule_by(entry_by(node, reading), reading)

# Routes have several hostnames for the host, or listeners of the port.
_may_differ(node) if {
	count({name | some [_, name] in hosts(node)}) > 1
} else if {
	count(neighbors_of(node)) > 1
}

# Rules of the next hostname serve requests that the first does not match. Virtual hosts are made of the common hostnames of
# routes and listener, the more specific of both, and the most specific one gets the request.
_more_specific(node) := [warning |
	not implementation(node).virtualHosts
	own := table.listeners[node].specificity
	served := min([own, array.slice(serving(node)[0], 0, 2)])
	some [bucket, name] in hosts(node)
	min([own, requests.specificity(name)]) < served
	rule_by(node, implementations.envoy) == null
	warning := {"reason": "MoreSpecificHostname", "message": sprintf(
		"%s has the more specific hostname %s, and none of its rules match: data planes based on Envoy return 404 here",
		[keys.describe(_route_at(node, bucket, name)), name],
	)}
][0]

# A route of a hostname. The hub has only the matches of the request in the table, an edge has all of them.
_route_at(node, bucket, name) := table.routes[node][bucket][name][0] if {
	true
} else := min({match.route | some path in table.matches[node][bucket][name]; some match in path})

# Another reading of the specification than that of the answer has another rule (null: none) for the request.
_specification_message(null, name) := sprintf("By Gateway API no rule serves this request, but by %s one does", [name])
_specification_message(rule, name) := sprintf("By Gateway API %s serves this request, but by %s it doesn't", [keys.describe(rule), name]) if rule != null

_virtual_host_message(null) := "data planes based on Envoy return 404 here: another hostname is more specific"
_virtual_host_message(rule) := sprintf("data planes based on Envoy let %s serve this request: they compare the hostnames that routes and listeners have in common", [keys.describe(rule)]) if rule != null
