package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   A rule of a route of a type references a backend by one of the port numbers of its refs
#   (BackendObjectReference.port). Other kinds than Service, and Services without ports, have no restriction.
leads_to(type, backend, numbers) if {
	not _has_ports(backend)
} else if {
	count(numbers) == 0
} else if {
	some number in numbers
	port_refusal(type, backend, number) == ""
} else := false

# METADATA
# description: |
#   Why routes of a type cannot use a port number of a backend, as the reason of a route's ResolvedRefs condition
#   (Gateway API, RouteConditionReason); empty if they can. A Service may have a number twice, for TCP and for UDP.
port_refusal(type, backend, number) := "" if {
	not _has_ports(backend)
} else := "" if {
	port_node(type, backend, number)
} else := "UnsupportedProtocol" if {
	some port in lookup.get(backend).spec.ports
	port.port == number
} else := "BackendNotFound"

# METADATA
# description: |
#   The node of the port that routes of a type use for a number of a Service: the UDP port for UDPRoutes, the TCP port
#   for others.
port_node(type, service_key, number) := [keys.section(service_key, port_names(service_key)[position]) |
	some position, port in lookup.get(service_key).spec.ports
	port.port == number
	takes_routes(port, type)
][0]

# METADATA
# description: |
#   A port of a Service serves routes of a type, by its protocol (ServicePort.protocol). The protocols of other kinds of
#   routes than Gateway API's are unknown.
takes_routes(port, type) if {
	type == "gateway.networking.k8s.io/UDPRoute"
	port_protocol(port) == "UDP"
} else if {
	type != "gateway.networking.k8s.io/UDPRoute"
	port_protocol(port) == "TCP"
} else if {
	not startswith(type, "gateway.networking.k8s.io/")
} else := false

# METADATA
# description: The protocol of a port of a Service.
port_protocol(port) := object.get(port, "protocol", "TCP")

# METADATA
# description: The protocols of a port of a Service by its name, or of all its ports (`""`).
port_protocols(service_key, name) := {port_protocol(port) |
	some position, port in lookup.get(service_key).spec.ports
	name in {"", port_names(service_key)[position], sprintf("%v", [port.port])}
}

_has_ports(backend) if {
	startswith(backend, "core/Service/")
	is_array(lookup.get(backend).spec.ports)
	lookup.get(backend).spec.ports[0]
} else := false

# METADATA
# description: |
#   The refs of a route to a backend that does not serve its requests, as links from the route: to the whole backend or,
#   if that exists and is permitted, to each port number that it lacks.
rejected_backends(route_key, backend) := {rejected_link(route_key, backend, reason)} if {
	reason := backend_rejection(route_key, backend)
	reason != ""
} else := {rejected_link(route_key, keys.section(backend, sprintf("%v", [number])), reason) |
	some backends in rule_backends(route_key)
	some number in backends[backend]
	is_number(number)
	reason := port_refusal(keys.type_of(route_key), backend, number)
	reason != ""
}
