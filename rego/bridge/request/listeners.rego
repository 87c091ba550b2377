package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

_gateway_type := "gateway.networking.k8s.io/Gateway"

# METADATA
# description: The Gateways that may accept the request, or its mesh frontend.
gateways := {input.gateway} if {
	input.gateway
} else := {concat("/", [_gateway_type, namespace, name]) |
	some namespace in lookup.namespaces_of(_gateway_type)
	some name, _ in lookup.objects_in(_gateway_type, namespace)
}

# METADATA
# description: The listeners of a Gateway, including those of its ListenerSets, as nodes.
listeners_of(gateway) := hierarchy.sections(gateway) | {node |
	some listener_set in index.listener_sets_of(gateway)
	hierarchy.taking_gateway(listener_set) == gateway
	some node in hierarchy.sections(listener_set)
}

# METADATA
# description: A listener, as in its Gateway or ListenerSet.
listener(node) := [found |
	parts := keys.parse(node)
	some found in hierarchy.listeners(parts.object)
	found.name == parts.section
][0]

# METADATA
# description: The hostname of an entry point, `*` if it has none.
hostname(entry) := lower(found) if {
	found := listener(entry).hostname
	found != ""
} else := "*"

# The protocols of listeners that may accept the request, in order of preference.
_listener_protocols := ["HTTPS", "TLS"] if {
	request.protocol == "HTTPS"
} else := ["HTTPS", "HTTP"] if {
	request.protocol == "GRPC"
} else := ["HTTPS", "HTTP"] if {
	request.protocol == "HTTP"
	not input.protocol
} else := [request.protocol]

# The server name selects among HTTPS and TLS listeners of a port, whichever protocol the request has.
_by_server_name := ["HTTPS", "TLS"]

# METADATA
# description: Why a listener does not accept the request, empty if it does.
listener_refusal(node) := "ProtocolDiffers" if {
	not listener(node).protocol in _listener_protocols
	not listener(node).protocol in _by_server_name
} else := "ProtocolDiffers" if {
	not listener(node).protocol in _listener_protocols
	not _beside(node)
} else := _unfit(node)

_unfit(node) := "PortDiffers" if {
	not request.port in {0, listener(node).port}
} else := "HostnameDiffers" if {
	not _covers(node)
} else := hierarchy.unaccepted_listeners(parts.object)[parts.section].reason if {
	parts := keys.parse(node)
} else := ""

# A listener with the other protocol is on the same port of the Gateway and would accept the request.
_beside(node) if {
	some other in listeners_of(gateway_of(node))
	listener(other).protocol in _by_server_name
	listener(other).protocol in _listener_protocols
	listener(other).port == listener(node).port
	_unfit(other) == ""
}

# Streams name no host.
_covers(_) if request.protocol in {"TCP", "UDP"}

_covers(node) if hostname(node) in covering_hostnames(request.host)

# METADATA
# description: |
#   The entry points of the request: for each Gateway, port and transport the listener with the most specific hostname
#   (Gateway API, GatewaySpec.listeners, "Listeners that are distinct only by Hostname"), or a frontend. By specificity,
#   HTTPS first.
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

# METADATA
# description: The Gateway of an entry point, or its frontend.
gateway_of(entry) := entry if {
	keys.is_frontend(entry)
} else := keys.parse(entry).object if {
	startswith(entry, concat("", [_gateway_type, "/"]))
} else := hierarchy.taking_gateway(keys.parse(entry).object)
