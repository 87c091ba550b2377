package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The listeners of a Gateway or ListenerSet that a parentRef with this sectionName ("": none) and port (0: none) selects and that admit
#   routes of a type from a namespace, name > hostname in lower case. The same for all such routes, so OPA computes it
#   once for them.
admitting_listeners(object_key, type, namespace, section_name, port) := {listener.name: lower(object.get(listener, "hostname", "")) |
	levels.of_type(keys.parse(object_key).type) in {"Gateway", "ListenerSet"}
	some listener in listeners(object_key)
	section_name in {"", listener.name}
	port in {0, listener.port}
	listener_rejection(object_key, listener, type, namespace) == ""
}

# METADATA
# description: |
#   Why a listener admits no routes of a type from a namespace, as the reason of a route's Accepted condition (Gateway API,
#   RouteConditionReason); empty where it does.
listener_rejection(object_key, listener, type, namespace) := "NotAllowedByListeners" if {
	not kind_allowed(listener, type)
} else := "NotAllowedByListeners" if {
	allowed := object.get(listener, ["allowedRoutes", "namespaces"], {})
	not namespaces_admit(allowed, "Same", keys.parse(object_key).namespace, namespace)
} else := ""

# Which route kinds a protocol takes where a listener does not say (Gateway API, Listener.protocol).
_types_by_protocol := {
	"HTTP": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"HTTPS": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"TLS": {"gateway.networking.k8s.io/TLSRoute"},
	"TCP": {"gateway.networking.k8s.io/TCPRoute"},
	"UDP": {"gateway.networking.k8s.io/UDPRoute"},
}

# METADATA
# description: |
#   A listener takes routes of a type, by its protocol and its allowedRoutes (Gateway API, AllowedRoutes.kinds).
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

# Of a kind of routes that is not Gateway API's own only its implementation knows which protocols it can be served by.
_compatible(_, type) if {
	every types in _types_by_protocol {
		not type in types
	}
}

_by_protocol(listener, type) if {
	type in _types_by_protocol[listener.protocol]
} else if {
	# Where TLS ends at the listener, what is inside may be any stream.
	listener.protocol == "TLS"
	object.get(listener, ["tls", "mode"], "Terminate") == "Terminate"
	type == "gateway.networking.k8s.io/TCPRoute"
} else if {
	# A protocol of an implementation's own takes what the implementation says; nothing here speaks against it.
	not _types_by_protocol[listener.protocol]
}

# METADATA
# description: |
#   What a Gateway or listener says of namespaces (`from`, `selector`) admits an object of a namespace; `own` is the
#   namespace of what says it, `default_from` is `from` where it says none (Gateway API, RouteNamespaces, ListenerNamespaces).
namespaces_admit(allowed, default_from, own, namespace) if {
	object.get(allowed, "from", default_from) == "Same"
	namespace == own
}

namespaces_admit(allowed, default_from, _, _) if object.get(allowed, "from", default_from) == "All"

namespaces_admit(allowed, default_from, _, namespace) if {
	object.get(allowed, "from", default_from) == "Selector"
	labels.selects(allowed.selector, lookup.namespace_labels(namespace))
}
