package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys

# A parentRef with a port binds its route to that port of a frontend, without a port to all (GEP-1294, "Ports"). If
# routes of several types use one port, only one type counts (GEP-1294, "Route types"). Both are decided for each port
# among the producer's routes, and among those of each consumer's namespace: no namespace can change the routes for
# others' requests.

# The first type on a port wins. UDPRoutes have another protocol.
_mesh_types := [concat("/", [keys.gateway_api, kind]) | some kind in ["GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute"]]

# METADATA
# description: |
#   Why a frontend that a parentRef names does not accept a route, as the reason of the route's Accepted condition;
#   empty if it does.
mesh_rejection(frontend_node, route_key, section, port) := reason if {
	reason := frontend_rejection(trim_suffix(frontend_node, "@frontend"), section, port)
	reason != ""
} else := "Conflicted" if {
	bound := _bound_by(frontend_node, section, port)
	count(bound) > 0
	count(bound - _taken_by_other_types(frontend_node, route_key)) == 0
} else := ""

# METADATA
# description: |
#   The ports of a frontend on which a route counts for requests from a namespace ("": from any): those that it is bound
#   to, without those of another type of routes or of a consumer route of that namespace (semantics P6).
mesh_ports(frontend_node, route_key, source) := _own_ports(frontend_node, route_key) if {
	namespace := keys.parse(route_key).namespace
	namespace != keys.parse(frontend_node).namespace
	namespace == source
} else := _own_ports(frontend_node, route_key) - _consumed_ports(frontend_node, source) if {
	keys.parse(route_key).namespace == keys.parse(frontend_node).namespace
} else := set()

# METADATA
# description: |
#   The ports of a frontend that have a number, by the names of `mesh_ports`; for 0 all. For a frontend that is not a
#   Service, only the ports that parentRefs name are known, and `*` means all others.
ports_with_number(frontend_node, number) := _all_ports(frontend_node) if {
	number == 0
} else := {name |
	object_key := trim_suffix(frontend_node, "@frontend")
	some position, name in port_names(object_key)
	ports(object_key)[position].port == number
} if {
	_is_service(frontend_node)
} else := {name} if {
	name := sprintf("%d", [number])
	name in _all_ports(frontend_node)
} else := {"*"}

# A Service without ports is treated like other frontends.
_is_service(frontend_node) if {
	keys.type_of(frontend_node) == "core/Service"
	count(port_names(trim_suffix(frontend_node, "@frontend"))) > 0
}

# An extension module can place a route below a frontend that no parentRef names.
_own_ports(frontend_node, route_key) := _all_ports(frontend_node) if {
	frontend_node in extension_parents(route_key)
} else := {port |
	some ref in index.facts(route_key).frontends
	ref.node == frontend_node
	some port in _bound_by(frontend_node, ref.section, ref.port)
} - _taken_by_other_types(frontend_node, route_key)

# The ports that consumer routes of a namespace replace for the producer's.
_consumed_ports(frontend_node, source) := set() if {
	source == keys.parse(frontend_node).namespace
} else := union({bound | some bound in _ports_by_type(frontend_node, source)})

_bound_by(frontend_node, section, port) := {name |
	object_key := trim_suffix(frontend_node, "@frontend")
	some position, name in port_names(object_key)
	section in {"", name}
	_numbered(ports(object_key)[position], port)
} if {
	_is_service(frontend_node)
} else := _all_ports(frontend_node) if {
	port == 0
} else := {sprintf("%d", [port])}

_numbered(_, 0)

_numbered(entry, number) if {
	number != 0
	entry.port == number
}

_all_ports(frontend_node) := {name | some name in port_names(trim_suffix(frontend_node, "@frontend"))} if {
	_is_service(frontend_node)
} else := {"*"} | {sprintf("%d", [ref.port]) |
	some route_key in index.declared_children(frontend_node)
	some ref in index.facts(route_key).frontends
	ref.node == frontend_node
	ref.port != 0
}

# The ports of routes of earlier types in a route's namespace.
_taken_by_other_types(frontend_node, route_key) := set() if {
	count(_ports_by_type(frontend_node, keys.parse(route_key).namespace)) < 2
} else := {port |
	some place, type in _mesh_types
	type == keys.type_of(route_key)
	some earlier in array.slice(_mesh_types, 0, place)
	some port in _ports_by_type(frontend_node, keys.parse(route_key).namespace)[earlier]
}

# The ports to which routes of a namespace are bound, by the type of the routes. The same for all of them.
_ports_by_type(frontend_node, namespace) := {type: bound |
	some type in {keys.type_of(route_key) | some route_key in _routes_in(frontend_node, namespace)}
	bound := {port |
		some route_key in _routes_in(frontend_node, namespace)
		keys.type_of(route_key) == type
		some ref in index.facts(route_key).frontends
		ref.node == frontend_node
		some port in _bound_by(frontend_node, ref.section, ref.port)
	}
}

_routes_in(frontend_node, namespace) := {route_key |
	some route_key in index.declared_children(frontend_node)
	split(route_key, "/")[2] == namespace
}
