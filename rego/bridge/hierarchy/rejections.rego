package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# The declared links above a node that do not count, a list of `{parent, child, reason, message}` with Gateway API's own
# reason if it has one (GEP-713, "Hierarchy of target kinds"; semantics P2). It is for people, and covers all
# declarations of the node and its ancestors. The message states how to make the link count.
rejected_links(node) := [object.union(link, {"message": _rejection_message(link)}) |
	some links in array.concat([_own_listeners(node)], [rejections(child) | some child in declared_upward(keys.whole(node))])
	some link in sort(links)
]

# The listener of a node, or the listeners of its object.
_own_listeners(node) := {link | some link in _conflicted_listeners(keys.parse(node).object); node in {link.parent, link.child}}

# The links between a Gateway or ListenerSet and its listeners in conflict, which do not count.
_conflicted_listeners(object_key) := {rejected_link(object_key, keys.section(object_key, name), conflict.reason) |
	some name, conflict in unaccepted_listeners(object_key)
	conflict.reason != "NotAllowed" # the link between the Gateway and the ListenerSet reports that
}

# The declared links directly above an object, or its frontend, that do not count: the part of `rejected_links` for this
# object, as a set. For a Gateway or ListenerSet also those to its listeners.
rejected_above(child) := _explained(rejections(child) | _conflicted_listeners(child))

_explained(links) := {object.union(link, {"message": _rejection_message(link)}) | some link in links}

# The objects above by declaration, and the object itself. Bounded like `objects_below`.
declared_upward(object_key) := reach("declared above", {object_key}, 9)

# The declared links directly above an object or frontend that do not count, with their reasons.
rejections(child) := {link |
	some link in (_refused_at(levels.of(child), child) | _refused_extended(child))
	link.reason != ""
}

_refused_extended(child) := {rejected_link(parent, child, _extended_refusal(parent, child)) | some parent in index.declared_extension_parents(child)}

_extended_refusal(parent, child) := "ParentNotFound" if {
	not canonical_key(parent)
} else := "ChildNotFound" if {
	not canonical_key(child)
} else := "Cycle" if {
	child in declared_upward(keys.whole(parent))
} else := ""

default _refused_at(_, _) := set()

_refused_at("Gateway", gateway) := {rejected_link(class, gateway, "ParentNotFound") |
	some class in index.declared_parents(gateway)
	levels.of(class) == "GatewayClass"
	not exists(class)
}

_refused_at("ListenerSet", listener_set) := {rejected_link(gateway, listener_set, reason) | [gateway, reason] := gateway_link(listener_set)}
_refused_at("Backend", backend) := {link |
	some route_key in index.declared_parents(backend)
	levels.of(route_key) == "Route"
	some link in rejected_backends(route_key, backend)
}

_refused_at("Route", route_key) := {rejected_link(parent, route_key, reason) | some [parent, reason] in parent_links(route_key)}

rejected_link(parent, child, reason) := {"parent": parent, "child": child, "reason": reason}

# Why a route's requests fail at a backend that it names, by a port number (0: none), `{reason, message}`; null if they
# succeed.
rejected_backend(route_key, backend, number) := [{"reason": link.reason, "message": _rejection_message(link)} |
	some link in rejected_backends(route_key, backend)
	link.child in {backend, keys.section(backend, sprintf("%v", [number]))}
][0] if {
	true
} else := null

# The links that an object itself declares and that do not count, in the form of `rejected_links`: those to its parents,
# for a route also those to its backends, for a Gateway or ListenerSet those to its listeners.
rejected_by(object_key) := _explained(rejections_by(object_key))

# The same without messages.
rejections_by(object_key) := union({rejections(object_key), _refused_backends(object_key), _conflicted_listeners(object_key)})

_refused_backends(route_key) := {link |
	levels.of(route_key) == "Route"
	some backend in index.declared_children(route_key)
	levels.of(backend) == "Backend"
	some link in rejected_backends(route_key, backend)
}

_rejection_message(link) := _message(link.reason, link, keys.parse(link.parent), keys.parse(link.child))

_message("ParentNotFound", link, _, _) := sprintf("%s does not exist", [keys.describe(link.parent)])
_message("ChildNotFound", link, _, _) := sprintf("%s does not exist", [keys.describe(link.child)])

_message("BackendNotFound", link, _, child) := sprintf("Service %s has no port %s", [keys.short(link.child), child.section]) if {
	is_port(link.child)
} else := sprintf("%s does not exist", [keys.describe(link.child)])

_message("UnsupportedProtocol", link, parent, child) := sprintf("port %s of Service %s is not for %s: its protocol is %s", [
	child.section,
	keys.short(link.child),
	{true: "UDP", false: "TCP"}[parent.kind == "UDPRoute"],
	concat(" and ", sort(port_protocols(child.object, child.section))),
])

_message("RefNotPermitted", link, _, child) := sprintf("no ReferenceGrant in namespace %s lets %s name %s", [
	child.namespace, keys.describe(link.parent), keys.describe(link.child),
])

_message("NoMatchingParent", link, _, _) := sprintf("%s has no listener or port with the sectionName and port that %s names", [
	keys.describe(link.parent), keys.describe(link.child),
])

_message("NoMatchingListenerHostname", link, _, _) := sprintf("none of the hostnames of %s is one of %s", [
	keys.describe(link.child), keys.describe(link.parent),
])

_message("NotAllowedByListeners", link, _, child) := sprintf("%s allows no %s from namespace %s: see its protocol and allowedRoutes", [
	keys.describe(link.parent), child.kind, child.namespace,
])

_message("Cycle", link, _, _) := sprintf("%s is already below %s: an extension's links form a cycle, and paths are cut there", [
	keys.describe(link.parent), keys.describe(link.child),
])

_message(reason, link, _, child) := _not_allowed_text(link.parent, link.child) if {
	reason == "NotAllowed"
	child.kind == "ListenerSet"
	child.section == ""
} else := unaccepted_message(link.child) if {
	reason in _reasons_of_listeners
	is_unaccepted(link.child)
} else := unaccepted_message(link.parent) if {
	reason in _reasons_of_listeners
	is_unaccepted(link.parent)
}

_reasons_of_listeners := {"NotAllowed", "HostnameConflict", "ProtocolConflict"}

_message("Conflicted", link, _, child) := sprintf("%s accepts no %s here: routes of another type use its ports, and of GRPCRoute, HTTPRoute, TLSRoute and TCPRoute only the first counts on a port", [
	keys.describe(link.parent), child.kind,
])

_not_allowed_text(gateway, listener_set) := sprintf("%s allows no ListenerSet from namespace %s: see its allowedListeners", [
	keys.describe(gateway),
	keys.parse(listener_set).namespace,
])

unaccepted_message(listener_node) := sprintf("%s is not accepted: %s", [keys.describe(listener_node), said]) if {
	[object_key, name] := split(listener_node, "#")
	conflict := unaccepted_listeners(object_key)[name]
	listener := [listener | some listener in listeners(object_key); listener.name == name][0]
	said := _unaccepted_text(conflict.reason, conflict.rival, object_key, listener)
}

_unaccepted_text("NotAllowed", gateway, listener_set, _) := _not_allowed_text(gateway, listener_set)

_unaccepted_text("HostnameConflict", rival, _, listener) := sprintf("%s has another %s listener with port %v and %s", [
	keys.describe(rival), listener.protocol, listener.port,
	{true: "no hostname", false: sprintf("hostname %s", [listener.hostname])}[object.get(listener, "hostname", "") == ""],
])

_unaccepted_text("ProtocolConflict", rival, _, listener) := sprintf("%s has another listener with port %v that cannot share it with %s", [
	keys.describe(rival), listener.port, listener.protocol,
])
