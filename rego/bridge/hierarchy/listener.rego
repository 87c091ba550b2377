package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: A parentRef selects the listeners that its sectionName and port name, or all.
selected_by(ref, listener) if {
	object.get(ref, "sectionName", listener.name) == listener.name
	object.get(ref, "port", listener.port) == listener.port
}

# METADATA
# description: |
#   Why a listener does not take a route, as the reasons of the route's Accepted condition (Gateway API,
#   RouteConditionReason); empty where it does.
refusals(route, gateway_key, listener) := ({"NotAllowedByListeners" | not _kind_allowed(route, listener)} | {"NotAllowedByListeners" | not _namespace_allowed(route, gateway_key, listener)}) | {"NoMatchingListenerHostname" | not _hostnames_meet(route, listener)}

# Which route kinds a protocol takes where a listener does not say (Gateway API, Listener.protocol).
_kinds_by_protocol := {
	"HTTP": {"HTTPRoute", "GRPCRoute"},
	"HTTPS": {"HTTPRoute", "GRPCRoute"},
	"TLS": {"TLSRoute", "TCPRoute"},
	"TCP": {"TCPRoute"},
	"UDP": {"UDPRoute"},
}

_kind_allowed(route, listener) if {
	some kind in listener.allowedRoutes.kinds
	kind.kind == route.kind
	object.get(kind, "group", gateway_api) == keys.group(route.apiVersion)
}

_kind_allowed(route, listener) if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) == 0
	route.kind in _kinds_by_protocol[listener.protocol]
}

# A protocol of an implementation's own takes what the implementation says; nothing here speaks against it.
_kind_allowed(_, listener) if {
	count(object.get(listener, ["allowedRoutes", "kinds"], [])) == 0
	not _kinds_by_protocol[listener.protocol]
}

_namespace_allowed(route, gateway_key, listener) if {
	_namespaces_from(listener) == "Same"
	route.metadata.namespace == keys.parse(gateway_key).namespace
}

_namespace_allowed(_, _, listener) if _namespaces_from(listener) == "All"

_namespace_allowed(route, _, listener) if {
	_namespaces_from(listener) == "Selector"
	selects(listener.allowedRoutes.namespaces.selector, namespace_labels(route.metadata.namespace))
}

_namespaces_from(listener) := object.get(listener, ["allowedRoutes", "namespaces", "from"], "Same")

_hostnames_meet(route, _) if count(object.get(route.spec, "hostnames", [])) == 0

_hostnames_meet(_, listener) if object.get(listener, "hostname", "") == ""

_hostnames_meet(route, listener) if {
	some hostname in route.spec.hostnames
	hostnames_intersect(hostname, listener.hostname)
}

# METADATA
# description: The labels of a namespace, with the one that the API server always gives.
namespace_labels(name) := object.union(
	object.get(lookup.get(keys.format("", "Namespace", "", name)), ["metadata", "labels"], {}),
	{"kubernetes.io/metadata.name": name},
)
