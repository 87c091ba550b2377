# METADATA
# title: Routing table
# description: |
#   What decides which rule serves a request, as `bridge.routing` looks it up. The hub computes here what concerns the request
#   in `input`; at an edge, the same document is stored for all requests (docs/appendix/documents.md). The hierarchy decides
#   which routes are attached.
package bridge.table

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.request as requests

_gateway_type := "gateway.networking.k8s.io/Gateway"

# METADATA
# description: |
#   The Gateways, or the mesh frontend, that the request may be to.
gateways := {input.gateway} if {
	input.gateway
} else := {concat("/", [_gateway_type, namespace, name]) |
	some namespace in lookup.namespaces_of(_gateway_type)
	some name, _ in lookup.objects_in(_gateway_type, namespace)
	lookup.is_in_view(concat("/", [_gateway_type, namespace, name]))
}

# The listeners that accept the request, by Gateway, kind of request and hostname (see `orders`).
entries[gateway][mode][name] := orders(gateway) if {
	mode := requests.mode
	name := requests.hostnames[0]
	some gateway in gateways
}

# The listeners of a Gateway that accept the request, or a frontend itself, `[specificity, protocol's rank, node, port,
# transport]`, HTTPS first.
orders(gateway) := [[requests.specificity("*"), 0, gateway, requests.request.port, "mesh"]] if {
	keys.is_frontend(gateway)
} else := sort([[requests.specificity(hostname(node)), rank, node, found.port, _transport(found.protocol)] |
	some node in listeners_of(gateway)
	refusal(node) == ""
	found := hierarchy.listener(node)
	some rank, protocol in ["HTTPS", "HTTP", "TLS", "TCP", "UDP"]
	protocol == found.protocol
])

# The entry points that the request may have.
asked contains order[2] if {
	some gateway in gateways
	some order in orders(gateway)
}

# An entry point: its Gateway, what its implementation does, and what messages say about it.
listeners[node] := about_listener(node) if some node in asked

# METADATA
# description: An entry point, a listener or a frontend, as the routing table has it.
about_listener(node) := {
	"gateway": node,
	"protocol": "",
	"specificity": requests.specificity("*"),
	"implementation": implementations.specification,
	"name": keys.describe(node),
	"warnings": [],
} if {
	keys.is_frontend(node)
} else := {
	"gateway": gateway_of(node),
	"port": object.get(hierarchy.listener(node), "port", null),
	"protocol": hierarchy.listener(node).protocol,
	"specificity": requests.specificity(hostname(node)),
	"implementation": implementation(node),
	"name": keys.describe(node),
	"warnings": array.concat(
		[{"reason": "ListenerFilters", "message": message} |
			count(filters_of_listener(node)) > 0
			message := sprintf("%s has filters, which may change the request before a route is chosen", [keys.describe(node)])
		],
		_unread_warnings(node),
	),
}

# Another Gateway of the class may have the same proxies, and a listener before this one.
_unread_warnings(node) := [{"reason": "UnreadParameters", "message": message} |
	some class in index.facts(gateway_of(node)).class
	some parameters in hierarchy.unread_parameters(class)
	message := sprintf("You can't read %s: if it lets Gateways share proxies, another Gateway of the class may serve the request", [keys.describe(parameters)])
] if {
	lookup.reads_in_part
} else := []

# The filters that an HTTP or HTTPS listener runs before a route is selected (Gateway API, ListenerFilters).
filters_of_listener(node) := [filter |
	found := hierarchy.listener(node)
	found.protocol in {"HTTP", "HTTPS"}
	some filter in found.filters.requests
]

# The listeners that are served at a Gateway, as nodes: its own, those of its ListenerSets, and those of other Gateways with
# the same proxies.
listeners_of(gateway) := _listeners_at(gateway) | {node |
	some other in hierarchy.merged_with(gateway)
	lookup.is_in_view(other)
	some node in _listeners_at(other)
}

_listeners_at(gateway) := hierarchy.sections(gateway) | {node |
	some listener_set in index.listener_sets_of(gateway)
	hierarchy.taking_gateway(listener_set) == gateway
	some node in hierarchy.sections(listener_set)
}

hostname(node) := lower(found) if {
	found := hierarchy.listener(node).hostname
	found != ""
} else := "*"

# The protocols of listeners that may accept the request. HTTP is without TLS only where the input says so.
_protocols := {"HTTPS", "TLS"} if {
	requests.request.protocol == "HTTPS"
} else := {"HTTPS", "HTTP"} if {
	requests.mode == "default"
} else := {requests.request.protocol}

# The server name selects among HTTPS and TLS listeners of a port, whichever protocol the request has.
_by_server_name := ["HTTPS", "TLS"]

# HTTP listeners and HTTPS or TLS listeners accept different connections of a port.
_transport(protocol) := "TLS" if {
	protocol in _by_server_name
} else := protocol

# METADATA
# description: Why a listener does not accept the request, empty if it does.
refusal(node) := "ProtocolDiffers" if {
	not hierarchy.listener(node).protocol in _protocols
	not _neighbor_accepts(node)
} else := _misfit(node)

_misfit(node) := "PortDiffers" if {
	not requests.request.port in {0, hierarchy.listener(node).port}
} else := "HostnameDiffers" if {
	requests.names_host
	not hostname(node) in requests.hostnames
} else := hierarchy.unaccepted_listeners(parts.object)[parts.section].reason if {
	parts := keys.parse(node)
} else := ""

# A listener with the other protocol is on the same port of the Gateway and would accept the request.
_neighbor_accepts(node) if {
	own := hierarchy.listener(node)
	own.protocol in _by_server_name
	some other in listeners_of(gateway_of(node))
	found := hierarchy.listener(other)
	found.protocol in _by_server_name
	found.protocol in _protocols
	found.port == own.port
	_misfit(other) == ""
}

# What the implementation of a listener's Gateway does with requests. For a frontend there is no listener whose hostname matters.
implementation(node) := implementations.specification if {
	keys.is_frontend(node)
} else := hierarchy.implementation(gateway_of(node))

# METADATA
# description: The Gateway of a listener, or a frontend itself.
gateway_of(node) := node if {
	keys.is_frontend(node)
} else := keys.parse(node).object if {
	startswith(node, concat("", [_gateway_type, "/"]))
} else := hierarchy.taking_gateway(keys.parse(node).object)
