# METADATA
# title: Request
# description: |
#   The route rule that serves a request, by Gateway API's precedence of listeners and matches: the listener with the
#   most specific hostname, then the route's match (HTTPRouteRule.matches, GRPCRouteRule.matches), then the older route.
#   The hierarchy decides which routes are attached.
package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

input_problem := form_problem if {
	true
} else := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]" if {
	not _takes_requests(input.gateway)
}

_takes_requests(key) if {
	keys.parse(key).section == ""
	levels.of(key) in {"Gateway", "Frontend"}
}

_gateway_type := "gateway.networking.k8s.io/Gateway"

gateways := {input.gateway} if {
	input.gateway
} else := {concat("/", [_gateway_type, namespace, name]) |
	some namespace in lookup.namespaces_of(_gateway_type)
	some name, _ in lookup.objects_in(_gateway_type, namespace)
	lookup.is_in_view(concat("/", [_gateway_type, namespace, name]))
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

# The entry points of the request: for each Gateway, port and transport one listener, or a frontend. By specificity, HTTPS
# first.
entry_points := [input.gateway] if {
	keys.is_frontend(input.gateway)
} else := [node |
	best := {place: order | some place, nodes in entries; order := min({entry_order(node, implementation(node)) | some node in nodes})}
	some [_, node] in sort({[array.slice(order, 1, 4), order[3]] | some _, order in best})
]

# The listeners that accept the request, by `[Gateway, port, transport]`.
entries[[gateway, listener(node).port, _transport(listener(node).protocol)]] contains node if {
	some gateway in gateways
	some node in listeners_of(gateway)
	listener_refusal(node) == ""
}

# The order of a listener among those of its port, the lower the better: by the most specific hostname (Gateway API,
# GatewaySpec.listeners, "Listeners that are distinct only by Hostname"); if listeners share virtual hosts, by the most
# specific one that a route has.
entry_order(node, reading) := [_entry_rank(node, reading), specificity(hostname(node)), rank, node] if {
	some rank, protocol in ["HTTPS", "HTTP", "TLS", "TCP", "UDP"]
	protocol == listener(node).protocol
}

_entry_rank(node, reading) := virtual_host_rank(node) if {
	implementations.shares_hosts(reading, listener(node).protocol)
} else := specificity(hostname(node))

# The implementation of an entry point's Gateway. For a frontend there is no listener whose hostname matters.
implementation(entry) := implementations.specification if {
	keys.is_frontend(entry)
} else := hierarchy.implementation(gateway_of(entry))

# The entry point that another reading of the specification has instead of this one.
entry_by(entry, reading) := min({entry_order(node, reading) | some node in nodes})[3] if {
	some nodes in entries
	entry in nodes
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
