package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The types of routes that may serve the request at an entry point, in order of preference. A gRPC call is an HTTP
#   request, too; the contents of a TLS listener's connection are not visible.
types(entry) := _types_by_protocol[request.protocol] if {
	keys.is_frontend(entry)
} else := _types_by_protocol[listener(entry).protocol] if {
	listener(entry).protocol in {"TLS", "TCP", "UDP"}
} else := _types_by_protocol.GRPC if {
	request.protocol == "GRPC"
} else := _types_by_protocol.HTTP

_types_by_protocol := {protocol: [concat("/", [keys.gateway_api, kind]) | some kind in kinds] |
	some protocol, kinds in {
		"HTTP": ["HTTPRoute"],
		"HTTPS": ["HTTPRoute"],
		"GRPC": ["GRPCRoute", "HTTPRoute"],
		"TLS": ["TLSRoute", "TCPRoute"],
		"TCP": ["TCPRoute"],
		"UDP": ["UDPRoute"],
	}
}

# METADATA
# description: |
#   The routes of a type that may serve the request at an entry point, by declaration, `[hostname, route]`: those that
#   the index has at a hostname that covers the host and at a prefix of the request's path, so other routes cost
#   nothing.
candidates(entry, type) := {[name, route_key] |
	some name in _names(entry)
	some path in _paths_above
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

# METADATA
# description: |
#   Some routes of a type at an entry point whose hostnames cover the host, with the paths most similar to the
#   request's: with the same first segments, then with the same first one, then any.
routes_of_host(entry, type) := {route_key |
	some name in _names(entry)
	some path in _paths_near(entry, name)
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

_paths_near(entry, name) := array.slice(near, 0, paths_regarded) if {
	near := array.concat(_paths_like(entry, name), [path | some path in ["/", "*"]; not path in _paths_like(entry, name)])
}

# Each prefix is used only if no path has the previous one.
_paths_like(entry, name) := found if {
	found := _begun(entry, name, _segments(3))
	count(found) > 0
} else := found if {
	found := _begun(entry, name, _segments(2))
	count(found) > 0
} else := found if {
	found := _begun(entry, name, substring(_segments(2), 0, floor(count(_segments(2)) * 0.7)))
	count(found) > 0
} else := _begun(entry, name, "")

_begun(entry, name, beginning) := array.slice(
	[path | some parent in entry_parents(entry); some path in index.some_served_paths(parent, name, beginning, paths_regarded)],
	0, paths_regarded,
)

_segments(number) := concat("/", array.slice(split(request.path, "/"), 0, number))

# METADATA
# description: The maximum number of examined paths of a hostname if no rule serves a request.
paths_regarded := 20

# METADATA
# description: |
#   The parents that routes name at an entry point, a Gateway, ListenerSet or frontend, and for a default Gateway its
#   key in the index.
entry_parents(entry) := {entry} if {
	keys.is_frontend(entry)
} else := {keys.parse(entry).object, index.default_gateways_key} if {
	keys.parse(entry).object in index.default_gateways
} else := {keys.parse(entry).object}

# In a mesh a request is for a Service, so hostnames of routes do not matter (GAMMA). Streams have none.
_names(entry) := {name | some parent in entry_parents(entry); some name in index.served_names(parent)} if {
	any_host(entry)
} else := {name | some name in covering_hostnames(request.host)}

# METADATA
# description: The host of a request does not matter at an entry point.
any_host(entry) if keys.is_frontend(entry)

any_host(_) if request.protocol in {"TCP", "UDP"}

# The request's path, its prefixes, and routes without a fixed path.
_paths_above := {"*", "/"} | {concat("/", array.slice(segments, 0, number)) |
	segments := split(index.without_last_slash(request.path), "/")
	some number in numbers.range(2, count(segments))
}

# METADATA
# description: |
#   The hostnames that cover a host, the most specific first: the host itself, the wildcards above it, and `*`, which
#   means no hostname. A wildcard covers one label or more (Gateway API, Hostname).
covering_hostnames(host) := ["*"] if {
	host == ""
} else := array.concat(array.concat([host], wildcards), ["*"]) if {
	labels := split(host, ".")
	wildcards := [concat(".", array.concat(["*"], array.slice(labels, from, count(labels)))) |
		some from in numbers.range(1, count(labels))
		from < count(labels)
	]
}

# METADATA
# description: |
#   The rank of a hostname, lower for more specific ones: by the characters of one without a wildcard, then by those of
#   any (HTTPRouteSpec.hostnames).
specificity(hostname) := [0, 0] if {
	hostname == "*"
} else := [0, 0 - count(hostname)] if {
	startswith(hostname, "*.")
} else := [0 - count(hostname), 0 - count(hostname)]

# METADATA
# description: |
#   The common hostname of a listener and a route that both cover one host: the more specific one.
common_hostname(one, other) := one if {
	specificity(one) <= specificity(other)
} else := other

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
