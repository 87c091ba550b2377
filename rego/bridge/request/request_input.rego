# METADATA
# title: Request
# description: |
#   The request that the input of `request` describes, on the hub and at an edge: its form, and where the routing table has
#   what may serve it.
package bridge.request

import data.bridge.lib.likeness

# The request in `input`, with defaults: `{protocol, port, host, path, pathAndQuery, method, headers, query, service, rpc}`.
# `protocol` is HTTP, HTTPS, GRPC, TLS, TCP or UDP; `port` 0 means any.
request := {
	"protocol": "HTTP",
	"port": 0,
	"host": input.host,
	"path": path,
	"pathAndQuery": path,
	"method": object.get(input, "method", "GET"),
	"headers": {"host": input.host},
	"query": {},
	"service": call[0],
	"rpc": call[1],
} if {
	is_plain
	path := object.get(input, "path", "/")
} else := {
	"protocol": _protocol,
	"port": object.get(input, "port", 0),
	"host": _host,
	"path": _path,
	"pathAndQuery": concat("?", array.concat([_path], [query | query := _query; query != ""])),
	"method": object.get(input, "method", _default_method),
	# A repeated header is one header with joined values (RFC 9110, 5.3). Each request has the header Host.
	"headers": object.union({"host": _host | _host != ""}, {name: concat(",", array.flatten([value | some value in spelled])) | some name, spelled in _headers}),
	# Gateway API does not define which of several query values counts; implementations take the first.
	"query": {name: array.flatten([value])[0] | some name, value in input.query},
	"service": call[0],
	"rpc": call[1],
}

# Most requests have only these fields. To compare each with its schema and complete the request takes half of the time of
# the answer at an edge.
is_plain if {
	object.remove(input, ["gateway", "host", "path", "method"]) == {}
	regex.match(`^[a-z0-9.-]{0,252}[a-z0-9]$`, input.host)
	regex.match(`^/[^?#]{0,1000}$`, object.get(input, "path", "/"))
	is_string(object.get(input, "method", ""))
	count(object.get(input, "method", "")) < 50
}

_path := object.get(input, "path", _default_path)

# A gRPC call is a POST to its service and method.
_default_method := "POST" if {
	_protocol == "GRPC"
} else := "GET"

_default_path := sprintf("/%s/%s", call) if {
	_protocol == "GRPC"
} else := "/"

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
	[field, {"pattern": `^[\x00-\x7f]*$`}, sprintf("%s must be in ASCII: clients send other letters in Punycode (xn--)", [field])] |
		some field in ["host", "sni"]
	],
	[
		["protocol", {"enum": _protocols}, sprintf("protocol must be one of %s", [concat(", ", _protocols)])],
		["port", {"type": "integer", "minimum": 1, "maximum": 65535}, "port must be a number from 1 to 65535"],
		["path", {"pattern": `^/[^?#]*$`}, "path must begin with / and must not contain ?: use query for parameters"],
		["grpc", {"type": "object", "required": ["service", "method"], "additionalProperties": false, "properties": {"service": _no_slash, "method": _no_slash}}, "grpc must have service and method, both strings without /"],
	],
	[[field, _values, sprintf("%s must be an object of strings, or of lists of strings", [field])] |
		some field in ["headers", "query"]
	],
])

gateway_message := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]"

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

# In TCP and UDP no host is visible.
names_host if not request.protocol in {"TCP", "UDP"}

# The hostnames of routes and listeners that may be for the request, the most specific first.
hostnames := ["*"] if {
	not names_host
} else := covering_hostnames(request.host)

# The paths that the routing table has for the request: `any` has `=` and an exact path, prefixes with a slash at the end,
# and `*`; `GRPC` has a service, and `*`.
paths := {
	"any": array.concat([concat("", ["=", request.path]), "*"], [substring(path, 0, slash + 1) | some slash in indexof_n(path, "/")]),
	"GRPC": [request.service, "*"],
} if {
	path := concat("", [request.path, "/"])
}

# The part of the routing table that has the listeners for the request: the protocol that the input names, or `default`.
mode := input.protocol if {
	object.get(input, "protocol", "GRPC") != "GRPC"
} else := request.protocol if {
	not request.protocol in {"GRPC", "HTTP"}
} else := "default"

http_type := "gateway.networking.k8s.io/HTTPRoute"

grpc_type := "gateway.networking.k8s.io/GRPCRoute"

# The types of routes that may serve a protocol, in order of preference. A gRPC call is an HTTP request, too; the contents
# of a TLS listener's connection are not visible.
types_by_protocol := {
	"HTTP": ["gateway.networking.k8s.io/HTTPRoute"],
	"HTTPS": ["gateway.networking.k8s.io/HTTPRoute"],
	"GRPC": ["gateway.networking.k8s.io/GRPCRoute", "gateway.networking.k8s.io/HTTPRoute"],
	"TLS": ["gateway.networking.k8s.io/TLSRoute", "gateway.networking.k8s.io/TCPRoute"],
	"TCP": ["gateway.networking.k8s.io/TCPRoute"],
	"UDP": ["gateway.networking.k8s.io/UDPRoute"],
}

# The part of the routing table that has the matches of a route: only gRPC calls are for GRPCRoutes, unless an
# implementation compares paths alone.
bucket(type) := "GRPC" if {
	type == grpc_type
} else := "any"
