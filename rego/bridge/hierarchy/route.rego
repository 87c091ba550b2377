package bridge.hierarchy

import data.bridge.index

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
	mesh_rejection(ref.node, route_key, ref.section, ref.port) == ""
}
