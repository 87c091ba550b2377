package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The nodes that a route's parentRefs select and that accept it (Gateway API, parentRefs). A default Gateway counts as if
# a parentRef named it (GEP-3793).
parents_at("Route", route_key) := _accepting_listeners(known.parents, known.hostnames, known.type, known.namespace) | {node | known.frontends; some [node, ""] in _frontend_links(route_key)} if {
	known := index.facts(route_key)
}

# A function of what routes have in common, so OPA computes it once for routes that differ by their rules.
_accepting_listeners(refs, hostnames, type, namespace) := {keys.section(object_key, listener.name) |
	some [object_key, listener] in _selected_listeners(refs)
	hostnames_meet(hostnames, object.get(listener, "hostname", ""))
	listener_rejection(object_key, listener, type, namespace) == ""
	not is_isolated(object_key, listener, hostnames)
}

refused_above("Route", route_key) := ({[node, reason] |
	some [object_key, listener] in _selected_listeners(known.parents)
	node := keys.section(object_key, listener.name)
	not node in parents_at("Route", route_key)
	reason := _rejection_by_listener(object_key, listener, known)
} | {[object_key, reason] |
	some ref in known.parents
	some object_key in _named_by(ref)
	_selected_of(object_key, ref.section, ref.port) == []
	not _delegates_to(object_key, route_key)
	reason := _absence(object_key)
}) | {link | some link in _frontend_links(route_key); link[1] != ""} if known := index.facts(route_key)

_delegates_to(object_key, route_key) if {
	levels.of(object_key) == "Route"
	some rule in extended_above(route_key)
	keys.whole(rule) == object_key
}

_rejection_by_listener(object_key, listener, known) := refusal if {
	refusal := listener_rejection(object_key, listener, known.type, known.namespace)
	refusal != ""
} else := "ListenerIsolation" if {
	hostnames_meet(known.hostnames, object.get(listener, "hostname", ""))
} else := "NoMatchingListenerHostname"

_frontend_links(route_key) := {[ref.node, _mesh_rejection(ref.node, route_key, ref.section, ref.port)] |
	some ref in index.facts(route_key).frontends
}

_absence(object_key) := "NoMatchingParent" if {
	exists(object_key)
} else := "ParentNotFound"

# Pairs of an object and a listener that these parentRefs of a route's facts select.
_selected_listeners(refs) := [[object_key, listener] |
	some ref in refs
	some object_key in _named_by(ref)
	some listener in _selected_of(object_key, ref.section, ref.port)
]

_named_by(ref) := index.default_gateways if {
	ref.object == index.default_gateways_key
} else := {ref.object}

_selected_of(object_key, section, port) := listeners(object_key) if {
	[section, port] == ["", 0]
} else := [listener |
	some listener in listeners(object_key)
	section in {"", listener.name}
	port in {0, listener.port}
]

# The parentRefs of a route, as in its spec, that select one of the nodes `aboves`; all of them if that is {""}: a path that
# begins at the route.
parent_refs(route_key, aboves) := {ref | some ref in _written_and_default_refs(route_key)} if {
	aboves == {""}
} else := {ref |
	namespace := keys.parse(route_key).namespace
	some ref in _written_and_default_refs(route_key)
	_selects_one(ref, namespace, aboves)
}

_selects_one(ref, namespace, nodes) if {
	some node in nodes
	parts := keys.parse(node)
	index.parent_key(ref, namespace) == parts.object
	object.get(ref, "sectionName", "") in {"", parts.section}
	has_port(node, object.get(ref, "port", 0))
}

# The parentRefs of a route as in its spec, and one for each default Gateway that it uses without naming it, as in
# status.parents (GEP-3793).
_written_and_default_refs(route_key) := array.concat(written, [object.filter(keys.parse(gateway), ["group", "kind", "namespace", "name"]) |
	lookup.get(route_key).spec.useDefaultGateways == "All"
	named := {index.parent_key(ref, keys.parse(route_key).namespace) | some ref in written}
	some gateway in sort(index.default_gateways - named)
]) if written := [ref | some ref in lookup.get(route_key).spec.parentRefs]

has_port(_, 0)

has_port(above, port) if listener(above).port == port

# A parentRef with a port binds its route to that port of a frontend, without a port to all (GEP-1294, "Ports"). If
# routes of several types use one port, only one type counts (GEP-1294, "Route types"). Both are decided for each port
# among the producer's routes, and among those of each consumer's namespace: no namespace can change the routes for
# others' requests.

# The first type on a port wins. UDPRoutes have another protocol.
_mesh_types := [concat("/", [keys.gateway_api, kind]) | some kind in ["GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute"]]

# A kind of Gateway API's own groups that the hierarchy does not have, such as XListenerSet, is no mesh frontend: requests
# may arrive there from outside.
is_unread_parent(node) if {
	keys.is_frontend(node)
	keys.parse(node).group in {keys.gateway_api, "gateway.networking.x-k8s.io"}
	not levels.by_type[keys.type_of(node)]
}

# Why a frontend that a parentRef names does not accept a route, as the reason of the route's Accepted condition (Gateway
# API, ParentReference); empty if it does. A port or sectionName of a Service must be one of its ports; for other kinds
# their meaning is unknown.
_mesh_rejection(frontend_node, route_key, section, port) := "NoMatchingParent" if {
	is_unread_parent(frontend_node)
} else := "ParentNotFound" if {
	not exists(trim_suffix(frontend_node, "@frontend"))
} else := "NoMatchingParent" if {
	keys.type_of(frontend_node) == "core/Service"
	[section, port] != ["", 0]
	_service_ports(frontend_node, section, port) == set()
} else := "Conflicted" if {
	bound := _bound_by(frontend_node, section, port)
	count(bound) > 0
	count(bound - _taken_by_other_types(frontend_node, route_key)) == 0
} else := ""

# The ports of a frontend on which a route counts for requests from a namespace ("": from any): those that it is bound
# to, without those of another type of routes or of a consumer route of that namespace (semantics P6).
mesh_ports(frontend_node, route_key, source) := _own_ports(frontend_node, route_key) if {
	namespace := keys.parse(route_key).namespace
	namespace != keys.parse(frontend_node).namespace
	namespace == source
} else := _own_ports(frontend_node, route_key) - _consumed_ports(frontend_node, source) if {
	keys.parse(route_key).namespace == keys.parse(frontend_node).namespace
} else := set()

# The ports of a frontend that have a number, by the names of `mesh_ports`; for 0 all. For a frontend that is not a
# Service, only the ports that parentRefs name are known, and `*` means all others.
ports_with_number(frontend_node, number) := found if {
	found := _bound_by(frontend_node, "", number)
	found - _all_ports(frontend_node) == set()
} else := {"*"}

# A Service without ports is treated like other frontends.
_is_service(frontend_node) if {
	keys.type_of(frontend_node) == "core/Service"
	_service_ports(frontend_node, "", 0) != set()
}

# An extension module can place a route below a frontend that no parentRef names.
_own_ports(frontend_node, route_key) := _all_ports(frontend_node) if {
	frontend_node in extension_parents(route_key)
} else := _bound_ports(frontend_node, route_key) - _taken_by_other_types(frontend_node, route_key)

_bound_ports(frontend_node, route_key) := {port |
	some ref in index.facts(route_key).frontends
	ref.node == frontend_node
	some port in _bound_by(frontend_node, ref.section, ref.port)
}

# The ports that consumer routes of a namespace replace for the producer's.
_consumed_ports(frontend_node, source) := set() if {
	source == keys.parse(frontend_node).namespace
} else := union({bound | some bound in _ports_by_type(frontend_node, source)})

_bound_by(frontend_node, section, port) := _service_ports(frontend_node, section, port) if {
	_is_service(frontend_node)
} else := _all_ports(frontend_node) if {
	port == 0
} else := {sprintf("%d", [port])}

_service_ports(frontend_node, section, number) := {name |
	object_key := trim_suffix(frontend_node, "@frontend")
	some position, name in port_names(object_key)
	section in {"", name}
	number in {0, ports(object_key)[position].port}
}

_all_ports(frontend_node) := _service_ports(frontend_node, "", 0) if {
	_is_service(frontend_node)
} else := {"*"} | {sprintf("%d", [ref.port]) |
	some route_key in index.declared_children(frontend_node)
	some ref in index.facts(route_key).frontends
	ref.node == frontend_node
	ref.port != 0
}

# The ports of routes of earlier types in a route's namespace.
_taken_by_other_types(frontend_node, route_key) := {port |
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
		some port in _bound_ports(frontend_node, route_key)
	}
}

_routes_in(frontend_node, namespace) := {route_key |
	some route_key in index.declared_children(frontend_node)
	split(route_key, "/")[2] == namespace
}
