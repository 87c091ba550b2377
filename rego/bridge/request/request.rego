# METADATA
# title: Request
# description: |
#   The route rule that serves a request, by Gateway API's precedence of listeners and matches: the listener with the
#   most specific hostname, then the route's match (HTTPRouteRule.matches, GRPCRouteRule.matches), then the older route.
#   The hierarchy decides which routes are attached.
package bridge.request

# METADATA
# description: |
#   The request in `input`, with defaults: `{protocol, port, host, path, method, headers, query, service, rpc}`.
#   `protocol` is HTTP, HTTPS, GRPC, TLS, TCP or UDP; `port` 0 means any.
request := {
	"protocol": _protocol,
	"port": object.get(input, "port", 0),
	"host": _host,
	"path": _path,
	"method": object.get(input, "method", {true: "POST", false: "GET"}[_protocol == "GRPC"]),
	"headers": {lower(name): _one(value) | some name, value in object.get(input, "headers", {})},
	"query": {name: _first(value) | some name, value in object.get(input, "query", {})},
	"service": object.get(input, ["grpc", "service"], ""),
	"rpc": object.get(input, ["grpc", "method"], ""),
}

# METADATA
# description: The values of `protocol`.
protocols := {"HTTP", "HTTPS", "GRPC", "TLS", "TCP", "UDP"}

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

_path := sprintf("/%s/%s", [object.get(input, ["grpc", "service"], ""), object.get(input, ["grpc", "method"], "")]) if {
	_protocol == "GRPC"
	not input.path
} else := object.get(input, "path", "/")

# A repeated header is one header with joined values (RFC 9110, 5.3).
_one(value) := value if is_string(value)

_one(value) := concat(",", value) if is_array(value)

# Gateway API does not define which of several query values counts; implementations take the first.
_first(value) := value if is_string(value)

_first(value) := value[0] if is_array(value)
