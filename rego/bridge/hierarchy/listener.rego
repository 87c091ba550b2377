package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The listeners of a Gateway that a parentRef with this sectionName ("": none) and port (0: none) selects and that admit
#   routes of a type from a namespace, name > hostname in lower case. The same for all such routes, so OPA computes it
#   once for them.
admitting(gateway_key, type, namespace, section_name, port) := {listener.name: lower(object.get(listener, "hostname", "")) |
	some listener in listeners(gateway_key)
	section_name in {"", listener.name}
	port in {0, listener.port}
	refusal(gateway_key, listener, type, namespace) == ""
}

# METADATA
# description: |
#   Why a listener admits no routes of a type from a namespace, as the reason of a route's Accepted condition (Gateway API,
#   RouteConditionReason); empty where it does.
refusal(gateway_key, listener, type, namespace) := "NotAllowedByListeners" if {
	not _kind_allowed(listener, type)
} else := "NotAllowedByListeners" if {
	not _namespace_allowed(listener, keys.parse(gateway_key).namespace, namespace)
} else := ""

# Which route kinds a protocol takes where a listener does not say (Gateway API, Listener.protocol).
_types_by_protocol := {
	"HTTP": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"HTTPS": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"TLS": {"gateway.networking.k8s.io/TLSRoute"},
	"TCP": {"gateway.networking.k8s.io/TCPRoute"},
	"UDP": {"gateway.networking.k8s.io/UDPRoute"},
}

_kind_allowed(listener, type) if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) > 0
	some kind in listener.allowedRoutes.kinds
	type == concat("/", [object.get(kind, "group", gateway_api), kind.kind])
} else if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) == 0
	_by_protocol(listener, type)
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

_namespace_allowed(listener, own, namespace) if {
	_namespaces_from(listener) == "Same"
	namespace == own
}

_namespace_allowed(listener, _, _) if _namespaces_from(listener) == "All"

_namespace_allowed(listener, _, namespace) if {
	_namespaces_from(listener) == "Selector"
	selects(listener.allowedRoutes.namespaces.selector, namespace_labels(namespace))
}

_namespaces_from(listener) := object.get(listener, ["allowedRoutes", "namespaces", "from"], "Same")

# METADATA
# description: The labels of a namespace, with the one that the API server always gives.
namespace_labels(name) := object.union(
	_written_labels(keys.format("", "Namespace", "", name)),
	{"kubernetes.io/metadata.name": name},
)

# A Namespace that is not there has its name all the same (semantics P2: manifests of one application alone).
_written_labels(namespace_key) := labels if {
	labels := lookup.get(namespace_key).metadata.labels
	is_object(labels)
} else := {}
