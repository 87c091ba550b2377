package bridge.request

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup

_gateway_type := "gateway.networking.k8s.io/Gateway"

_listener_set_type := "gateway.networking.k8s.io/ListenerSet"

# METADATA
# description: The Gateways that may take the request, or the mesh frontend that it is for.
gateways := {input.gateway} if {
	input.gateway
} else := {concat("/", [_gateway_type, namespace, name]) |
	some namespace in lookup.namespaces_of(_gateway_type)
	some name, _ in lookup.objects_in(_gateway_type, namespace)
}

# METADATA
# description: The listeners of a Gateway, those of its ListenerSets among them, as nodes.
listeners_of(gateway) := {node |
	some object_key in ({gateway} | {key | some key, own in _listener_sets; gateway in own})
	some node in hierarchy.sections(object_key)
}

# Every ListenerSet with the Gateway that takes it.
_listener_sets := {key: parents |
	some namespace in lookup.namespaces_of(_listener_set_type)
	some name, _ in lookup.objects_in(_listener_set_type, namespace)
	key := concat("/", [_listener_set_type, namespace, name])
	parents := hierarchy.parents(key)
}

# METADATA
# description: A listener, as its Gateway or ListenerSet has it.
listener(node) := [found |
	parts := keys.parse(node)
	some found in hierarchy.listeners(parts.object)
	found.name == parts.section
][0]

# METADATA
# description: The hostname of an entry point, `*` where it has none.
hostname(entry) := lower(found) if {
	found := listener(entry).hostname
	found != ""
} else := "*"

_listener_protocols := {
	"HTTP": ["HTTPS", "HTTP"],
	"GRPC": ["HTTPS", "HTTP"],
	"TLS": ["TLS"],
	"TCP": ["TCP"],
	"UDP": ["UDP"],
}

# METADATA
# description: Why a listener does not take the request, empty where it does.
listener_refusal(node) := "ProtocolDiffers" if {
	not listener(node).protocol in _listener_protocols[request.protocol]
} else := "PortDiffers" if {
	not request.port in {0, listener(node).port}
} else := "HostnameDiffers" if {
	not _covers(node)
} else := ""

# Streams name no host.
_covers(_) if request.protocol in {"TCP", "UDP"}

_covers(node) if hostname(node) in covering_hostnames(request.host)

# METADATA
# description: |
#   Where the request may come in: of each Gateway and port the one listener with the most specific hostname (Gateway API,
#   GatewaySpec.listeners, "Listeners that are distinct only by Hostname"), or a frontend. By specificity, HTTPS first.
entry_points := [input.gateway] if {
	keys.is_frontend(input.gateway)
} else := [node |
	best := {[gateway, listener(node).port]: order |
		some gateway in gateways
		some node in listeners_of(gateway)
		place := [gateway, listener(node).port]
		order := min(_orders[place])
	}
	some [_, _, node] in sort({order | some _, order in best})
]

_orders[[gateway, port]] contains [specificity(hostname(node)), rank, node] if {
	some gateway in gateways
	some node in listeners_of(gateway)
	listener_refusal(node) == ""
	port := listener(node).port
	some rank, protocol in _listener_protocols[request.protocol]
	protocol == listener(node).protocol
}

# METADATA
# description: The Gateway of an entry point, or the frontend that it is.
gateway_of(entry) := entry if {
	keys.is_frontend(entry)
} else := [gateway | some gateway in gateways; entry in listeners_of(gateway)][0]
