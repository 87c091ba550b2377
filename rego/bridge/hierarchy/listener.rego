package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# METADATA
# description: |
#   Why a listener does not allow routes of a type from a namespace, as the reason of a route's Accepted condition
#   (Gateway API, RouteConditionReason); empty if it does.
listener_rejection(object_key, listener, type, namespace) := "NotAllowedByListeners" if {
	not kind_allowed(listener, type)
} else := "NotAllowedByListeners" if {
	allowed := object.get(listener, ["allowedRoutes", "namespaces"], {})
	not namespaces_admit(allowed, "Same", keys.parse(object_key).namespace, namespace)
} else := ""

# The route kinds of a protocol if a listener does not list kinds (Gateway API, Listener.protocol).
_types_by_protocol := {
	"HTTP": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"HTTPS": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"TLS": {"gateway.networking.k8s.io/TLSRoute"},
	"TCP": {"gateway.networking.k8s.io/TCPRoute"},
	"UDP": {"gateway.networking.k8s.io/UDPRoute"},
}

# METADATA
# description: |
#   A listener allows routes of a type, by its protocol and its allowedRoutes (Gateway API, AllowedRoutes.kinds).
kind_allowed(listener, type) if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) > 0
	some kind in listener.allowedRoutes.kinds
	type == concat("/", [keys.group_name(object.get(kind, "group", keys.gateway_api)), kind.kind])
	_compatible(listener, type)
} else if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) == 0
	_by_protocol(listener, type)
}

_compatible(listener, type) if _by_protocol(listener, type)

# For kinds of routes outside Gateway API, only their implementation knows the protocols.
_compatible(_, type) if {
	every types in _types_by_protocol {
		not type in types
	}
}

_by_protocol(listener, type) if {
	type in _types_by_protocol[listener.protocol]
} else if {
	# If the listener terminates TLS, the stream inside may be of any type.
	listener.protocol == "TLS"
	object.get(listener, ["tls", "mode"], "Terminate") == "Terminate"
	type == "gateway.networking.k8s.io/TCPRoute"
} else if {
	# For an implementation-specific protocol, nothing here restricts the routes.
	not _types_by_protocol[listener.protocol]
}

# METADATA
# description: |
#   The namespaces part of a Gateway or listener (`from`, `selector`) allows an object of a namespace. `own` is the
#   namespace of the Gateway or ListenerSet, `default_from` the default of `from` (Gateway API, RouteNamespaces,
#   ListenerNamespaces).
namespaces_admit(allowed, default_from, own, namespace) if {
	object.get(allowed, "from", default_from) == "Same"
	namespace == own
}

namespaces_admit(allowed, default_from, _, _) if object.get(allowed, "from", default_from) == "All"

namespaces_admit(allowed, default_from, _, namespace) if {
	object.get(allowed, "from", default_from) == "Selector"
	labels.selects(allowed.selector, lookup.namespace_labels(namespace))
}
