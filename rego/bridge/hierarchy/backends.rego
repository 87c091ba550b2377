package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

ports(service_key) := lookup.get(service_key).spec.ports if levels.by_type[keys.parse(service_key).type].section == "Port"

# The section names of a Service's ports, in its order, each its name or, without a name, its number (semantics K2).
port_names(service_key) := [name |
	some position, port in ports(service_key)
	name := index.section_name(port, _port_number(port, position))
]

# A port without a name and a number, which is possible in manifests only, is named by its place.
_port_number(port, position) := sprintf("%v", [port.port]) if {
	is_number(port.port)
} else := sprintf("[%d]", [position])

# The backends that each rule of a route names and may use, including those of its filters: rule node > backend key >
# set of port numbers. `leads_to` decides whether the rule references the backend.
rule_backends(route_key) := {node: backends |
	namespace := keys.parse(route_key).namespace
	some position, rule in lookup.get(route_key).spec.rules
	node := keys.section(route_key, section_names(route_key)[position])
	refs := index.backend_refs(rule)
	backends := {key: numbers |
		some ref in refs
		key := index.backend_key(ref, namespace)
		backend_permitted(route_key, key)
		numbers := {other.port | some other in refs; index.backend_key(other, namespace) == key}
	}
}

# A route may name a backend of its own namespace, or one that a ReferenceGrant allows; a route whose parents are all
# Services may name any, because requests in a mesh could go there without it (GEP-1294). Parents of other kinds may be
# gateways.
backend_permitted(route_key, backend) if {
	keys.parse(route_key).namespace == keys.parse(backend).namespace
} else if {
	is_granted(route_key, backend)
} else if {
	parents := index.declared_parents(route_key)
	count(parents) > 0
	every parent in parents {
		startswith(parent, "core/Service/")
	}
}

# The rules directly above a backend by accepted links.
rules_above(backend) := {rule |
	some route_key in index.declared_parents(backend)
	some rule, backends in rule_backends(route_key)
	leads_to(keys.type_of(route_key), backend, backends[backend])
}

# The backends that requests to a rule reach, and the ports that they use.
backends_reached(rule) := {node |
	type := keys.type_of(rule)
	some backend, numbers in rule_backends(keys.parse(rule).object)[rule]
	exists(backend)
	leads_to(type, backend, numbers)
	some node in ({backend} | {port_node(type, backend, number) | some number in numbers})
}

# A path above a port includes the port: only rules that name its number and its protocol count, not every rule that
# names its Service.
reaches_port(above, node) if {
	some rule in array.slice(above, count(above) - 3, count(above))
	[route_key, service_key] := [keys.parse(rule).object, keys.parse(node).object]
	numbers := rule_backends(route_key)[rule][service_key]
	some position, port in ports(service_key)
	port_names(service_key)[position] == keys.parse(node).section
	port.port in numbers
	_takes_routes(port, keys.type_of(route_key))
} else if {
	# A link of an extension module to a Service counts for all its ports.
	index.has_extension_links
	some parent in array.slice(above, count(above) - 3, count(above))
	parent in extension_parents(keys.parse(node).object)
}

is_port(node) if {
	startswith(node, "core/Service/")
	contains(node, "#")
} else := false

# A rule of a route of a type references a backend by one of the port numbers of its refs. Refs to a Service need a port
# (BackendObjectReference.port). Other kinds have no restriction, and Services without ports take each number.
leads_to(type, backend, numbers) if {
	count(numbers) == 0
	not startswith(backend, "core/Service/")
} else if {
	some number in numbers
	port_refusal(type, backend, number) == ""
} else := false

# Why routes of a type cannot use a port number of a backend, as the reason of a route's ResolvedRefs condition (Gateway
# API, RouteConditionReason); empty if they can. A Service may have a number twice, for TCP and for UDP.
port_refusal(type, backend, number) := "" if {
	not _has_ports(backend)
} else := "" if {
	port_node(type, backend, number)
} else := "UnsupportedProtocol" if {
	some port in lookup.get(backend).spec.ports
	port.port == number
} else := "BackendNotFound"

# The node of the port that routes of a type use for a number of a Service: the UDP port for UDPRoutes, the TCP port for
# others.
port_node(type, service_key, number) := [keys.section(service_key, port_names(service_key)[position]) |
	some position, port in lookup.get(service_key).spec.ports
	port.port == number
	_takes_routes(port, type)
][0]

protocol_of("gateway.networking.k8s.io/UDPRoute") := "UDP"
protocol_of(type) := "TCP" if type != "gateway.networking.k8s.io/UDPRoute"

# A port of a Service serves routes of a type, by its protocol (ServicePort.protocol). The protocols of other kinds of
# routes than Gateway API's are unknown.
_takes_routes(port, type) if {
	port_protocol(port) == protocol_of(type)
} else if {
	not startswith(type, "gateway.networking.k8s.io/")
} else := false

port_protocol(port) := object.get(port, "protocol", "TCP")

# The protocols of a port of a Service by its name, or of all its ports (`""`).
port_protocols(service_key, name) := {port_protocol(port) |
	some position, port in lookup.get(service_key).spec.ports
	name in {"", port_names(service_key)[position], sprintf("%v", [port.port])}
}

_has_ports(backend) if {
	startswith(backend, "core/Service/")
	lookup.get(backend).spec.ports[0]
} else := false

# The refs of a route to a backend that does not serve its requests, as links from the route: to the whole backend or,
# if that exists and is permitted, to each port number that it lacks.
rejected_backends(route_key, backend) := {rejected_link(route_key, backend, "RefNotPermitted")} if {
	not backend_permitted(route_key, backend)
} else := {rejected_link(route_key, backend, "BackendNotFound")} if {
	not exists(backend)
} else := {rejected_link(route_key, keys.section(backend, sprintf("%v", [number])), reason) |
	some backends in rule_backends(route_key)
	some number in backends[backend]
	is_number(number)
	reason := port_refusal(keys.type_of(route_key), backend, number)
	reason != ""
} | {rejected_link(route_key, backend, "PortNotSpecified") |
	startswith(backend, "core/Service/")
	some rule in lookup.get(route_key).spec.rules
	some ref in index.backend_refs(rule)
	not ref.port
	index.backend_key(ref, keys.parse(route_key).namespace) == backend
}

# A ReferenceGrant in the target's namespace allows objects of the referrer's kind and namespace to name it.
is_granted(referrer, target) if {
	from := keys.parse(referrer)
	to := keys.parse(target)
	some grant in lookup.objects_in("gateway.networking.k8s.io/ReferenceGrant", to.namespace)
	some giver in grant.spec.from
	keys.is_group(giver.group, from.group)
	giver.kind == from.kind
	giver.namespace == from.namespace
	some taker in grant.spec.to
	keys.is_group(taker.group, to.group)
	taker.kind == to.kind
	object.get(taker, "name", to.name) in {to.name, ""}
}
