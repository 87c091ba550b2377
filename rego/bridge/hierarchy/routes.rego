package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# Only existing frontends and listeners that allow the route are above it (Gateway API, parentRefs).
parents_of_level("Route", route_key) := listeners_above(route_key) | frontends_above(route_key)

# METADATA
# description: The listeners that accept a route.
listeners_above(route_key) := {node |
	some ref in known.parents
	some nodes in object.filter(_admitting_nodes(ref, known.type, known.namespace), known.endings)
	some node in nodes
} if {
	known := index.facts(route_key)
	not known.wild
} else := {node |
	some ref in known.parents
	some ending, nodes in _admitting_nodes(ref, known.type, known.namespace)
	_in_common(ending, known)
	some node in nodes
} if {
	known := index.facts(route_key)
}

# The ending of a listener's hostname matches one of the endings of a route with wildcards or without hostnames.
_in_common(ending, known) if ending in known.endings

_in_common(ending, known) if strings.any_suffix_match(ending, known.wild)

# The listener nodes that accept such routes, by the ending of their hostnames.
_admitting_nodes(ref, type, namespace) := _admitted_by_default(type, namespace) if {
	ref.object == index.default_gateways_key
} else := _admitting_listeners(ref.object, type, namespace, ref.section, ref.port)

_admitting_listeners(object_key, type, namespace, section_name, port) := {ending: nodes |
	own := split(object_key, "/")[2]
	unaccepted := unaccepted_listeners(object_key)
	some ending, entries in index.facts(object_key).nodes
	nodes := {node |
		some [node, name, at_port, allowed, taking] in entries
		section_name in {"", name}
		port in {0, at_port}
		not unaccepted[name]
		kind_allowed(taking, type)
		namespaces_admit(allowed, "Same", own, namespace)
	}
}

# Default Gateways count as if a parentRef named each (GEP-3793).
_admitted_by_default(type, namespace) := {ending: nodes |
	some ending in {ending | some gateway in index.default_gateways; some ending, _ in index.facts(gateway).nodes}
	nodes := {node |
		some gateway in index.default_gateways
		some node in _admitting_listeners(gateway, type, namespace, "", 0)[ending]
	}
}

# METADATA
# description: The existing frontends that a route names and that have a port for it.
frontends_above(route_key) := {ref.node |
	some ref in index.facts(route_key).frontends
	_mesh_rejection(ref.node, route_key, ref.section, ref.port) == ""
}

# METADATA
# description: |
#   The parentRefs of a route, as in its spec, that select the node `above` it; all of them if there is none ("": a path
#   that begins at the route).
parent_refs(route_key, above) := {ref | some ref in written_and_default_refs(route_key)} if {
	above == ""
} else := {ref |
	parts := keys.parse(above)
	namespace := keys.parse(route_key).namespace
	some ref in written_and_default_refs(route_key)
	index.parent_key(ref, namespace) == parts.object
	object.get(ref, "sectionName", "") in {"", parts.section}
	_has_port(above, object.get(ref, "port", 0))
}

# METADATA
# description: |
#   The parentRefs of a route as in its spec, and one for each default Gateway that it uses without naming it, as in
#   status.parents (GEP-3793).
written_and_default_refs(route_key) := array.concat(written, [default_ref(gateway) |
	lookup.get(route_key).spec.useDefaultGateways == "All"
	named := {index.parent_key(ref, keys.parse(route_key).namespace) | some ref in written}
	some gateway in sort(index.default_gateways - named)
]) if {
	written := [ref | some ref in lookup.get(route_key).spec.parentRefs]
}

# METADATA
# description: The parentRef for a default Gateway.
default_ref(gateway) := {"group": parts.group, "kind": parts.kind, "namespace": parts.namespace, "name": parts.name} if {
	parts := keys.parse(gateway)
}

# METADATA
# description: A listener has a port that a parentRef names.
has_port(above, port) if _has_port(above, port)

_has_port(_, 0)

_has_port(above, port) if {
	port != 0
	parts := keys.parse(above)
	some listener in listeners(parts.object)
	listener.name == parts.section
	listener.port == port
}

# METADATA
# description: Each node that a parentRef selects, with the reason why it does not accept the route, empty if it does.
parent_rejections(node, route_key, section, port) := {node: _mesh_rejection(node, route_key, section, port)} if {
	keys.is_frontend(node)
}

parent_rejections(node, _, _, _) := {node: "ParentNotFound"} if {
	not keys.is_frontend(node)
	not exists(node)
}

parent_rejections(node, route_key, section, port) := {keys.section(node, name): reason |
	some name, listener in _selected(node, section, port)
	reason := _listener_refusal(node, listener, route_key)
} if {
	not keys.is_frontend(node)
	exists(node)
	count(_selected(node, section, port)) > 0
}

parent_rejections(node, _, section, port) := {node: "NoMatchingParent"} if {
	not keys.is_frontend(node)
	exists(node)
	count(_selected(node, section, port)) == 0
}

_selected(object_key, section, port) := {listener.name: listener |
	some listener in listeners(object_key)
	section in {"", listener.name}
	port in {0, listener.port}
}

_listener_refusal(object_key, listener, route_key) := unaccepted_listeners(object_key)[listener.name].reason if {
	true
} else := reason if {
	about := keys.parse(route_key)
	reason := listener_rejection(object_key, listener, about.type, about.namespace)
	reason != ""
} else := "NoMatchingListenerHostname" if {
	hostnames := [lower(hostname) | some hostname in lookup.get(route_key).spec.hostnames]
	not hostnames_meet(hostnames, lower(object.get(listener, "hostname", "")))
} else := ""

# Why the object that a parentRef names is not a frontend of a route, as a reason of the route's Accepted condition
# (Gateway API, ParentReference); empty if it is one. A port or sectionName of a Service must be one of its ports; for
# other kinds their meaning is unknown.
_frontend_rejection(object_key, section_name, port) := "ParentNotFound" if {
	not exists(object_key)
} else := "NoMatchingParent" if {
	keys.parse(object_key).type == "core/Service"
	not _names_a_port(object_key, section_name, port)
} else := ""

_names_a_port(_, "", 0)

# Inside a comprehension, because OPA 1.22 indexes `argument in {0, variable}` in a function's body as if it were always
# false.
_names_a_port(service_key, section_name, port) if {
	matching := {index |
		some index, entry in ports(service_key)
		section_name in {"", port_names(service_key)[index]}
		port in {0, entry.port}
	}
	count(matching) > 0
}

# A parentRef with a port binds its route to that port of a frontend, without a port to all (GEP-1294, "Ports"). If
# routes of several types use one port, only one type counts (GEP-1294, "Route types"). Both are decided for each port
# among the producer's routes, and among those of each consumer's namespace: no namespace can change the routes for
# others' requests.

# The first type on a port wins. UDPRoutes have another protocol.
_mesh_types := [concat("/", [keys.gateway_api, kind]) | some kind in ["GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute"]]

# Why a frontend that a parentRef names does not accept a route, as the reason of the route's Accepted condition;
# empty if it does.
_mesh_rejection(frontend_node, route_key, section, port) := reason if {
	reason := _frontend_rejection(trim_suffix(frontend_node, "@frontend"), section, port)
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
