package bridge.request

import data.bridge.lib.keys
import data.bridge.lib.likeness

# The request in `input`, with defaults: `{protocol, port, host, path, pathAndQuery, method, headers, query, service, rpc}`.
# `protocol` is HTTP, HTTPS, GRPC, TLS, TCP or UDP; `port` 0 means any.
request := {
	"protocol": _protocol,
	"port": object.get(input, "port", 0),
	"host": _host,
	"path": _path,
	"pathAndQuery": concat("?", array.concat([_path], [query | query := _query; query != ""])),
	"method": object.get(input, "method", {true: "POST", false: "GET"}[_protocol == "GRPC"]),
	# A repeated header is one header with joined values (RFC 9110, 5.3).
	"headers": {name: concat(",", array.flatten([value | some value in spelled])) | some name, spelled in _headers},
	# Gateway API does not define which of several query values counts; implementations take the first.
	"query": {name: array.flatten([value])[0] | some name, value in input.query},
	"service": call[0],
	"rpc": call[1],
}

_path := object.get(input, "path", {true: sprintf("/%s/%s", call), false: "/"}[_protocol == "GRPC"])

# The query as text. The input has its parameters in no order.
_query := concat("&", [sprintf("%s=%s", [name, value]) | some name, values in input.query; some value in array.flatten([values])])

# The values of each header by its spellings: names differ by more than case (RFC 9110, 5.1).
_headers[lower(name)][name] := value if some name, value in input.headers

_protocol := input.protocol if {
	input.protocol
} else := "GRPC" if {
	input.grpc
} else := "TLS" if {
	input.sni
} else := "HTTP" if {
	some field in ["host", "path"]
	input[field]
} else := "TCP"

# The port of a Host header is not part of the hostname (Gateway API, HTTPRouteSpec.hostnames).
_host := trim_suffix(regex.replace(lower(object.get(input, "sni", object.get(input, "host", ""))), `:[0-9]+$`, ""), ".")

# What a GRPCRoute compares; of other requests the parts of the path.
call := [object.get(input.grpc, field, "") | some field in ["service", "method"]] if {
	is_object(input.grpc)
} else := [segments[1], concat("/", array.slice(segments, 2, count(segments)))] if {
	is_string(input.path)
	segments := split(input.path, "/")
} else := ["", ""]

# The problem of the first field with an invalid form, as a message.
form_problem := likeness.unknown_field(object.keys(input), _fields | shared_fields) if {
	true
} else := _wrong_forms[0] if {
	true
} else := sprintf("path of a gRPC call is %s: omit it, or correct grpc", [path]) if {
	request.protocol == "GRPC"
	input.grpc
	path := sprintf("/%s/%s", call)
	request.path != path
}

_wrong_forms := [message |
	some [field, schema, message] in _forms
	value := input[field]
	not json.match_schema({"value": value}, {"properties": {"value": schema}})[0]
]

_protocols := ["GRPC", "HTTP", "HTTPS", "TCP", "TLS", "UDP"]

_fields := {field | some [field, _, _] in _forms} | {"gateway", "allPaths", "fields"}

# The fields that the input of every query may have. One input may be for several queries, so all may have what others are
# about.
shared_fields := {"changes", "staged", "sourceNamespace", "policyKind", "skipMissing", "targets", "policies", "objects"}

# The valid forms of the input's fields, as JSON Schemas, and the problem with any other.
_forms := array.flatten([
	[[field, {"type": "string"}, sprintf("%s must be a string", [field])] |
		some field in ["host", "path", "method", "sni", "protocol"]
	],
	[[field, {"maxLength": bound}, sprintf("%s must have at most %d characters", [field, bound])] |
		some field, bound in {"host": 260, "sni": 260, "path": 8192, "method": 256} # a host has 253, and may have a port
	],
	[[field, {"pattern": `^(\[[0-9a-fA-F:.]+\]|[^/?#@:\s\[\]]*)(:[0-9]+)?$`}, sprintf("%s must be a hostname: a URL's scheme, path and query are fields of their own", [field])] |
		some field in ["host", "sni"]
	],
	[
		["protocol", {"enum": _protocols}, sprintf("protocol must be one of %s", [concat(", ", _protocols)])],
		["port", {"type": "integer", "minimum": 1, "maximum": 65535}, "port must be a number from 1 to 65535"],
		["path", {"pattern": `^/[^?#]*$`}, "path must begin with / and must not contain ?: use query for parameters"],
		["grpc", {"type": "object", "required": ["service", "method"], "properties": {"service": _no_slash, "method": _no_slash}}, "grpc must have service and method, both strings without /"],
	],
	[[field, _values, sprintf("%s must be an object of strings, or of lists of strings", [field])] |
		some field in ["headers", "query"]
	],
])

_no_slash := {"type": "string", "pattern": "^[^/]*$"}

_values := {"type": "object", "additionalProperties": {"anyOf": [
	{"type": "string"},
	{"type": "array", "minItems": 1, "items": {"type": "string"}},
]}}

# The hostnames that cover a host, the most specific first: the host itself, the wildcards above it, and `*`, which means
# no hostname. A wildcard covers one label or more (Gateway API, Hostname).
covering_hostnames(host) := array.flatten([[host | host != ""], [concat("", ["*", substring(host, dot, -1)]) | some dot in indexof_n(host, ".")], "*"])

# The rank of a hostname, lower for more specific ones: by the characters of one without a wildcard, then by those of any
# (HTTPRouteSpec.hostnames).
specificity(hostname) := [0, 0] if {
	hostname == "*"
} else := [0, 0 - count(hostname)] if {
	startswith(hostname, "*.")
} else := [0 - count(hostname), 0 - count(hostname)]

# The rank in place of a hostname's if no hostname that a listener has in common with a route covers the host.
no_virtual_host := [1]

overweight_message := "the patterns of the routes for this request are too many to compile, and those of this route are the heaviest"

# The maximum weight of all patterns that one query compiles.
_query_bound := 200000

# Of routes with the weights of their patterns, those whose patterns are too many. Routes with the lowest weight are
# kept, so one route cannot use the bound of all others.
overweight(weights) := {route | some route, weight in weights; weight > limit} if {
	heaviest := max({0} | {weight | some weight in weights})
	limit := max({0} | {limit |
		some limit in ({heaviest} | {bits.lsh(1, exponent) | some exponent in numbers.range(0, 17)})
		sum([weight | some weight in weights; weight <= limit]) <= _query_bound
	})
}

# `nearest` if rules are undecided, so the serving rule is unknown.
undecided_answer(rules) := {
	"reached": "Route",
	"reason": "CannotTell",
	"message": sprintf("Cannot tell: %s may serve it, but %s", [keys.describe(rules[0].node), _undecided(rules[0])[1]]),
	"candidates": [object.union(rule, {"reason": _undecided(rule)[0]}) | some rule in rules],
}

# Why it is unknown whether a rule serves the request, `[reason, text]`.
_undecided(rule) := ["Delegated", delegated_message] if {
	rule.message == delegated_message
} else := ["PatternNotCompiled", "its pattern is too large to compile"]

delegated_message := "it delegates the request to other routes, against which the bridge does not match requests"

no_listener_message := sprintf("No listener accepts %s%s%s", [request.protocol, _for_host, concat("", [sprintf(" on port %d", [request.port]) | request.port != 0])])
no_rule_message := sprintf("No rule of the routes for %s matches", [request.host])
no_route_message(kinds, listener_name) := sprintf("No %s%s is attached to %s", [kinds, _for_host, listener_name])

_for_host := {true: "", false: sprintf(" for %s", [request.host])}[request.host == ""]

# The warning that data planes may choose a rule by another path (RFC 3986, 6.2.2: dot segments and encoded characters that
# need no encoding; also empty segments): Gateway API leaves it to them. Envoy Gateway's proxies do all of it.
path_warnings := [{"reason": "PathNotNormal", "message": message} |
	request.protocol in {"HTTP", "HTTPS"}
	regex.match(_not_normal, request.path)
	message := sprintf("Data planes may normalize the path %s before they choose a rule: request its normal form too", [request.path])
]

_not_normal := `//|/\.\.?(/|$)|\\|%(2[dDeEfF]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[cCfF]|7[eE])`

# The warning that other data planes may have no rule for the request, because of a route at a more specific hostname.
more_specific_warning(route_key, name) := {"reason": "MoreSpecificHostname", "message": sprintf(
	"%s has the more specific hostname %s, and none of its rules match: data planes based on Envoy return 404 here",
	[keys.describe(route_key), name],
)}

# Another reading of the specification than that of the answer has another rule (null: none) for the request.
specification_message(null, name) := sprintf("Gateway API lets no rule serve this request, %s does", [name])
specification_message(rule, name) := sprintf("Gateway API lets %s serve this request, %s does not", [keys.describe(rule), name]) if rule != null

virtual_host_message(null) := "data planes based on Envoy return 404 here: another hostname is more specific"
virtual_host_message(rule) := sprintf("data planes based on Envoy let %s serve this request: they compare the hostnames that routes and listeners have in common", [keys.describe(rule)]) if rule != null
