package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The declared links above a node that do not count, a list of `{parent, child, reason, message}` with Gateway API's
#   own reason if it has one (GEP-713, "Hierarchy of target kinds"; semantics P2). It is for people, and covers all
#   declarations of the node and its ancestors. The message states how to make the link count.
rejected_links(node) := [object.union(link, {"message": rejection_message(link)}) |
	some links in array.concat([_own_listeners(node)], [rejections(child) | some child in declared_upward(_start(node))])
	some link in sort(links)
]

# The listener of a node, or the listeners of its object.
_own_listeners(node) := {link | some link in conflicted_listeners(keys.parse(node).object); node in {link.parent, link.child}}

# METADATA
# description: The links between a Gateway or ListenerSet and its listeners in conflict, which do not count.
conflicted_listeners(object_key) := {rejected_link(object_key, keys.section(object_key, name), conflict.reason) |
	some name, conflict in unaccepted_listeners(object_key)
	conflict.reason != "NotAllowed" # the link between the Gateway and the ListenerSet reports that
}

# METADATA
# description: |
#   The declared links directly above an object, or its frontend, that do not count: the part of `rejected_links` for
#   this object, as a set. For a Gateway or ListenerSet also those to its listeners.
rejected_above(child) := {object.union(link, {"message": rejection_message(link)}) |
	some link in (rejections(child) | conflicted_listeners(child))
}

_start(node) := node if {
	keys.is_frontend(node)
} else := keys.parse(node).object

# METADATA
# description: The objects above by declaration, and the object itself. Bounded like `objects_below`.
declared_upward(object_key) := reach("declared above", {object_key}, 9)

# METADATA
# description: The declared links directly above an object or frontend that do not count, with their reasons.
rejections(child) := {link |
	some link in (_refused_at(levels.of(child), child) | _refused_extended(child))
	link.reason != ""
}

_refused_extended(child) := {rejected_link(parent, child, _extended_refusal(parent, child)) |
	some parent in index.declared_extension_parents(child)
}

_extended_refusal(parent, child) := "ParentNotFound" if {
	not canonical_key(parent)
} else := "ChildNotFound" if {
	not canonical_key(child)
} else := "Cycle" if {
	child in declared_upward(keys.whole(parent))
} else := ""

_refused_at("Gateway", gateway) := {rejected_link(class, gateway, _missing(class)) |
	some class in index.declared_parents(gateway)
	levels.of(class) == "GatewayClass"
}

_refused_at("ListenerSet", listener_set) := {rejected_link(gateway, listener_set, listener_set_rejection(listener_set, gateway)) |
	gateway := index.gateway_of(lookup.get(listener_set))
}

_refused_at("Backend", backend) := {link |
	some route_key in index.declared_parents(backend)
	levels.of(route_key) == "Route"
	some link in rejected_backends(route_key, backend)
}

_refused_at("Route", route_key) := {link |
	namespace := keys.parse(route_key).namespace
	some ref in written_and_default_refs(route_key)
	node := index.parent_node(ref, namespace)
	some parent, reason in parent_rejections(node, route_key, object.get(ref, "sectionName", ""), object.get(ref, "port", 0))
	link := rejected_link(parent, route_key, reason)
}

_refused_at(name, _) := set() if not name in {"Gateway", "ListenerSet", "Backend", "Route"}

# METADATA
# description: A link with the reason why it does not count.
rejected_link(parent, child, reason) := {"parent": parent, "child": child, "reason": reason}

_missing(object_key) := "" if {
	exists(object_key)
} else := "ParentNotFound"

# METADATA
# description: Why a link from a route to a backend does not count, as a reason; empty if it counts.
backend_rejection(route_key, backend) := "RefNotPermitted" if {
	not backend_permitted(route_key, backend)
} else := "BackendNotFound" if {
	not exists(backend)
} else := ""

# METADATA
# description: |
#   Why a route's requests fail at a backend that it names, by a port number (0: none), `{reason, message}`; null if
#   they succeed.
rejected_backend(route_key, backend, number) := {"reason": reason, "message": rejection_message(rejected_link(route_key, backend, reason))} if {
	reason := backend_rejection(route_key, backend)
	reason != ""
} else := {"reason": reason, "message": rejection_message(rejected_link(route_key, keys.section(backend, sprintf("%v", [number])), reason))} if {
	number != 0
	is_number(number)
	reason := port_refusal(keys.type_of(route_key), backend, number)
	reason != ""
} else := null
