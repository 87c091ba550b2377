package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   A rule of a route of a type leads to a backend by one of the port numbers that its refs have (BackendObjectReference.port).
#   What is no Service, or a Service without ports, says nothing of ports.
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
#   Why routes of a type do not get to a port number of a backend, as the reason of a route's ResolvedRefs condition (Gateway
#   API, RouteConditionReason); empty where they do. A Service may have a number twice, for TCP and for UDP.
port_refusal(type, backend, number) := "" if {
	not _has_ports(backend)
} else := "" if {
	port_node(type, backend, number)
} else := "UnsupportedProtocol" if {
	some port in lookup.get(backend).spec.ports
	port.port == number
} else := "BackendNotFound"

# METADATA
# description: The node of the port by which routes of a type get to a number of a Service, for UDP those of UDPRoutes and for TCP all others.
port_node(type, service_key, number) := [keys.section(service_key, port_names(service_key)[position]) |
	some position, port in lookup.get(service_key).spec.ports
	port.port == number
	takes_routes(port, type)
][0]

# METADATA
# description: |
#   A port of a Service takes the streams of routes of a type, by its protocol (ServicePort.protocol). What kinds of routes that
#   are not Gateway API's send nobody here knows.
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
#   The refs of a route to a backend that does not take its requests, as links from the route: to the backend as a whole or, where
#   that is there and permitted, to each port that it does not have for them.
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
