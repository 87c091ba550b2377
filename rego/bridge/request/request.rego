# METADATA
# title: Request
# description: |
#   The route rule that serves a request, by Gateway API's precedence of listeners and matches: the listener with the
#   most specific hostname, then the route's match (HTTPRouteRule.matches, GRPCRouteRule.matches), then the older route.
#   The hierarchy decides which routes are attached.
package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The request in `input`, with defaults: `{protocol, port, host, path, method, headers, query, service, rpc}`.
# `protocol` is HTTP, HTTPS, GRPC, TLS, TCP or UDP; `port` 0 means any.
request := {
	"protocol": _protocol,
	"port": object.get(input, "port", 0),
	"host": _host,
	"path": object.get(input, "path", {true: sprintf("/%s/%s", _call), false: "/"}[_protocol == "GRPC"]),
	"method": object.get(input, "method", {true: "POST", false: "GET"}[_protocol == "GRPC"]),
	# A repeated header is one header with joined values (RFC 9110, 5.3).
	"headers": {lower(name): concat(",", array.flatten([value])) | some name, value in input.headers},
	# Gateway API does not define which of several query values counts; implementations take the first.
	"query": {name: array.flatten([value])[0] | some name, value in input.query},
	"service": _call[0],
	"rpc": _call[1],
}

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

_call := [object.get(input, ["grpc", field], "") | some field in ["service", "method"]]

input_problem := [message |
	some [field, schema, message] in _forms
	value := input[field]
	not json.match_schema({"value": value}, {"properties": {"value": schema}})[0]
][0] if {
	true
} else := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]" if {
	not _takes_requests(input.gateway)
}

_protocols := ["GRPC", "HTTP", "HTTPS", "TCP", "TLS", "UDP"]

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

_takes_requests(key) if {
	keys.parse(key).section == ""
	levels.of(key) in {"Gateway", "Frontend"}
}

# The hostnames that cover a host, the most specific first: the host itself, the wildcards above it, and `*`, which means
# no hostname. A wildcard covers one label or more (Gateway API, Hostname).
covering_hostnames(host) := array.concat([host | host != ""], array.concat(wildcards, ["*"])) if {
	labels := split(host, ".")
	wildcards := [concat(".", array.concat(["*"], array.slice(labels, from, count(labels)))) |
		some from in numbers.range(1, count(labels))
		from < count(labels)
	]
}

# The rank of a hostname, lower for more specific ones: by the characters of one without a wildcard, then by those of any
# (HTTPRouteSpec.hostnames).
specificity(hostname) := [0, 0] if {
	hostname == "*"
} else := [0, 0 - count(hostname)] if {
	startswith(hostname, "*.")
} else := [0 - count(hostname), 0 - count(hostname)]

_gateway_type := "gateway.networking.k8s.io/Gateway"

gateways := {input.gateway} if {
	input.gateway
} else := {concat("/", [_gateway_type, namespace, name]) |
	some namespace in lookup.namespaces_of(_gateway_type)
	some name, _ in lookup.objects_in(_gateway_type, namespace)
}

# The listeners of a Gateway, including those of its ListenerSets, as nodes.
listeners_of(gateway) := hierarchy.sections(gateway) | {node |
	some listener_set in index.listener_sets_of(gateway)
	hierarchy.taking_gateway(listener_set) == gateway
	some node in hierarchy.sections(listener_set)
}

listener(node) := [found |
	parts := keys.parse(node)
	some found in hierarchy.listeners(parts.object)
	found.name == parts.section
][0]

hostname(entry) := lower(found) if {
	found := listener(entry).hostname
	found != ""
} else := "*"

# The protocols of listeners that may accept the request. HTTP is without TLS only where the input says so.
_listener_protocols := {"HTTPS", "TLS"} if {
	request.protocol == "HTTPS"
} else := {"HTTPS", "HTTP"} if {
	request.protocol in {"HTTP", "GRPC"}
	object.get(input, "protocol", "GRPC") == "GRPC"
} else := {request.protocol}

# The server name selects among HTTPS and TLS listeners of a port, whichever protocol the request has.
_by_server_name := ["HTTPS", "TLS"]

# Why a listener does not accept the request, empty if it does.
listener_refusal(node) := "ProtocolDiffers" if {
	not listener(node).protocol in _listener_protocols
	not _neighbor_accepts(node)
} else := _misfit(node)

_misfit(node) := "PortDiffers" if {
	not request.port in {0, listener(node).port}
} else := "HostnameDiffers" if {
	not request.protocol in {"TCP", "UDP"} # streams name no host
	not hostname(node) in covering_hostnames(request.host)
} else := hierarchy.unaccepted_listeners(parts.object)[parts.section].reason if {
	parts := keys.parse(node)
} else := ""

# A listener with the other protocol is on the same port of the Gateway and would accept the request.
_neighbor_accepts(node) if {
	listener(node).protocol in _by_server_name
	some other in listeners_of(gateway_of(node))
	listener(other).protocol in _by_server_name
	listener(other).protocol in _listener_protocols
	listener(other).port == listener(node).port
	_misfit(other) == ""
}

# The entry points of the request: for each Gateway, port and transport the listener with the most specific hostname
# (Gateway API, GatewaySpec.listeners, "Listeners that are distinct only by Hostname"), or a frontend. By specificity,
# HTTPS first.
entry_points := [input.gateway] if {
	keys.is_frontend(input.gateway)
} else := [node |
	best := {place: order | some place, orders in _orders; order := min(orders)}
	some [_, _, node] in sort({order | some _, order in best})
]

_orders[[gateway, listener(node).port, _transport(listener(node).protocol)]] contains [specificity(hostname(node)), rank, node] if {
	some gateway in gateways
	some node in listeners_of(gateway)
	listener_refusal(node) == ""
	some rank, protocol in ["HTTPS", "HTTP", "TLS", "TCP", "UDP"]
	protocol == listener(node).protocol
}

# HTTP listeners and HTTPS or TLS listeners accept different connections of a port.
_transport(protocol) := "TLS" if {
	protocol in _by_server_name
} else := protocol

gateway_of(entry) := entry if {
	keys.is_frontend(entry)
} else := keys.parse(entry).object if {
	startswith(entry, concat("", [_gateway_type, "/"]))
} else := hierarchy.taking_gateway(keys.parse(entry).object)
