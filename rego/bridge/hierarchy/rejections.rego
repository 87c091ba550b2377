package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The declared links above a node that are ignored, a list of `{parent, child, reason, message}` with Gateway API's own
# reason if it has one (GEP-713, "Hierarchy of target kinds"; semantics P2). It is for people, and covers all
# declarations of the node and its ancestors. The message states how to make the link count.
rejected_links(node) := [object.union(link, {"message": _rejection_message(link)}) |
	# The problems of a listener itself, or of the listeners of its object.
	own := {link | some link in _conflicted_listeners(keys.parse(node).object); node in {link.parent, link.child}}
	some links in array.concat([own], [rejections(child) | some child in declared_upward(keys.whole(node))])
	some link in sort(links)
]

# The links between a Gateway or ListenerSet and its listeners in conflict, which are ignored.
_conflicted_listeners(object_key) := {rejected_link(object_key, keys.section(object_key, name), conflict.reason) |
	some name, conflict in unaccepted_listeners(object_key)
	conflict.reason != "NotAllowed" # the link between the Gateway and the ListenerSet reports that
}

# The declared links directly above an object, or its frontend, that are ignored: the part of `rejected_links` for this
# object, as a set. For a Gateway or ListenerSet also those to its listeners.
rejected_above(child) := explained(rejections(child) | _conflicted_listeners(child))

explained(links) := {object.union(link, {"message": _rejection_message(link)}) | some link in links}

# Why nothing accepts the route at the top of a path, a list of messages. Undefined if the path begins elsewhere.
not_attached(path) := messages if {
	not startswith(path[0], "gateway.networking.k8s.io/GatewayClass/")
	route := [node | some node in path; levels.of(node) != "Namespace"][0]
	levels.of(route) == "Route"
	parents(keys.object_of(route)) == set()
	reasons := sort({link.message | some link in rejected_above(keys.object_of(route))})
	messages := array.concat(reasons, ["it names no parent" | reasons == []])
}

# The objects above by declaration, and the object itself. Bounded like `objects_below`.
declared_upward(object_key) := reach("declared above", {object_key}, 9)

# The declared links directly above an object or frontend that are ignored, with their reasons.
rejections(child) := {rejected_link(parent, child, reason) |
	extensions := {[parent, reason] |
		some parent in extended_above(child)
		reason := _extended_refusal(parent, child)
		_concerns(parent, child, reason)
	}
	some [parent, reason] in (refused_above(levels.of(child), child) | extensions)
} | {link |
	levels.of(child) == "Backend"
	some route_key in index.declared_parents(child)
	levels.of(route_key) == "Route"
	some link in rejected_backends(route_key, child)
}

# The parents that an object names and that may exist, although the user may not read them.
unread_parents(object_key) := {link.parent |
	some link in rejections(object_key)
	link.reason == "ParentNotFound"
	lookup.may_be_unread(keys.whole(link.parent))
}

# A rule that delegates to routes with a label, or to all of a namespace, need not be about each of them.
_concerns(parent, child, _) if parent in index.declared_extension_parents(child)
_concerns(_, _, "HostnamesOfDelegate")

_extended_refusal(parent, child) := "ParentNotFound" if {
	not canonical_key(parent)
} else := "ChildNotFound" if {
	not canonical_key(child)
} else := reason if {
	reason := delegation_refusal(parent, child)
} else := "Cycle" if {
	child in declared_upward(keys.whole(parent))
}

# The lower ends of links of extension modules that may close a cycle through some objects, or no longer do. `paths` are the
# index paths that these objects declare and declared before.
ends_in_cycles(object_keys, paths) := {child |
	below := object_keys | {end | some ["parents", end] in paths}
	users := {route | index.default_gateways_key in below; some route in index.declared_children(index.default_gateways_key)}
	some child in reach("declared above", object_keys | {end | some ["children", end] in paths}, 9)
	some parent in extended_above(child)
	count(declared_upward(keys.whole(parent)) & (below | users)) > 0
}

# The rejected links without those of a listener that does not accept a route while another one accepts it for the same
# parentRefs: this is how routes choose among the listeners of a Gateway (Gateway API, ParentReference.sectionName).
not_taken_elsewhere(links) := {link | some link in links; not _is_taken_elsewhere(link)}

_is_taken_elsewhere(link) if {
	keys.parse(link.parent).section != ""
	refs := parent_refs(link.child, {link.parent})
	count(refs) > 0
	count(refs - _counted_refs(link.child)) == 0
}

# The parentRefs of a child that some parent accepts: OPA computes them once for all links of the child.
_counted_refs(child) := parent_refs(child, parents(child))

rejected_link(parent, child, reason) := {"parent": parent, "child": child, "reason": reason}

# Why a route's requests fail at a backend that it names, by a port number (0: none), `{reason, message}`; null if they
# succeed.
rejected_backend(route_key, backend, number) := [{"reason": link.reason, "message": _rejection_message(link)} |
	some link in rejected_backends(route_key, backend)
	link.child in {backend, keys.section(backend, sprintf("%v", [number]))}
	_is_about(link, number)
][0] if {
	true
} else := null

# Refs with a port are served, of several to one Service.
_is_about(link, _) if link.reason != "PortNotSpecified"

_is_about(_, 0)

# The links that an object itself declares and that are ignored, in the form of `rejected_links`: those to its parents,
# for a route also those to its backends, for a Gateway or ListenerSet those to its listeners; without messages, and
# without those that are taken elsewhere. A route that is accepted for each of its parentRefs has no others above it.
unserved_links(object_key) := _refused_backends(object_key) if {
	_is_accepted_for_each_ref(object_key)
} else := _refused_by_extensions(object_key) if {
	levels.of(object_key) == "Backend"
} else := not_taken_elsewhere(union({rejections(object_key), _refused_backends(object_key), _conflicted_listeners(object_key)}))

# The refs of routes to a backend that are ignored, as links: the routes declare them.
refused_refs(backend) := not_taken_elsewhere({link | some link in rejections(backend); levels.of(link.parent) == "Route"})

# Routes name a backend, not the reverse: these are links of extension modules, which both ends may declare.
_refused_by_extensions(backend) := {link | some link in rejections(backend); levels.of(link.parent) != "Route"} if {
	index.has_extension_links
} else := set()

_is_accepted_for_each_ref(route_key) if {
	levels.of(route_key) == "Route"
	not index.has_extension_links
	not index.facts(route_key).frontends
	count(parent_refs(route_key, {""}) - _counted_refs(route_key)) == 0
}

_refused_backends(route_key) := {link |
	levels.of(route_key) == "Route"
	some backend in index.declared_children(route_key)
	levels.of(backend) == "Backend"
	not index.names_delegates(backend)
	some link in rejected_backends(route_key, backend)
} | {rejected_link(route_key, delegate, "BackendNotFound") |
	index.has_extension_links
	levels.of(route_key) == "Route"
	some delegate in index.declared_children(route_key)
	index.names_delegates(delegate)
	_leads_nowhere(route_key, delegate)
}

# No route is below a rule of this route by a key that the rule names.
_leads_nowhere(route_key, delegate) if {
	routes_named(delegate) == {delegate}
	not exists(delegate)
} else if {
	routes_named(delegate) != {delegate}
	every named in routes_named(delegate) {
		not route_key in {keys.whole(rule) | some rule in extension_parents(named)}
	}
}

# A parentRef of a route names another route, which Gateway API leaves to implementations.
names_route(link) if {
	link.reason == "NoMatchingParent"
	levels.of(link.parent) == "Route"
}

_rejection_message(link) := message if {
	link.reason in {"NotAllowed", "HostnameConflict", "ProtocolConflict"}
	message := _listener_message(link)
} else := sprintf("you can't read %s", [keys.describe(named)]) if {
	lookup.reads_in_part
	named := {"ParentNotFound": link.parent, "ChildNotFound": link.child, "BackendNotFound": link.child}[link.reason]
	lookup.may_be_unread(keys.whole(named))
} else := _message(link.reason, link.parent, link.child)

# The message of a reason, a function of each: a template for all would cost more expressions.
_message("ParentNotFound", parent, _) := sprintf("%s does not exist", [keys.describe(parent)])
_message("ChildNotFound", _, child) := sprintf("%s does not exist", [keys.describe(child)])

_message("BackendNotFound", _, child) := sprintf("no route in %s has the label delegation.kgateway.dev/label: %s and can take requests of this route", [place, parts.name]) if {
	index.is_delegation_label(child)
	parts := keys.parse(child)
	place := object.get({"all": "any namespace"}, parts.namespace, sprintf("namespace %s", [parts.namespace]))
} else := sprintf("no route in namespace %s can take requests of this route", [keys.namespace(child)]) if {
	endswith(child, "/*")
} else := sprintf("%s has no port %s", [keys.describe(keys.object_of(child)), keys.parse(child).section]) if {
	is_port(child)
} else := sprintf("%s does not exist", [keys.describe(child)])

_message("PortNotSpecified", parent, child) := sprintf("%s names %s without a port: a backendRef to a Service needs one", [keys.describe(parent), keys.describe(child)])

_message("UnsupportedProtocol", parent, child) := sprintf("port %s of %s is not for %s: its protocol is %s", [
	parts.section,
	keys.describe(parts.object),
	protocol_of(keys.type_of(parent)),
	concat(" and ", sort(port_protocols(parts.object, parts.section))),
]) if {
	parts := keys.parse(child)
}

_message("RefNotPermitted", parent, child) := sprintf("no ReferenceGrant in namespace %s lets %s name %s", [
	keys.parse(child).namespace,
	keys.describe(parent),
	keys.describe(child),
])

_message("NoMatchingParent", parent, child) := sprintf("no rule of %s has this route as a backend", [keys.describe(parent)]) if {
	levels.of(parent) == "Route"
} else := sprintf("Policy Bridge does not read %s: requests may reach the route's rules through this parent%s", [keys.describe(parent), hint]) if {
	is_unread_parent(parent)
	hint := concat("", [". Since Gateway API 1.5 it is a ListenerSet" | keys.parse(parent).kind == "XListenerSet"])
} else := sprintf("%s has no listener or port with the sectionName and port that %s names", [keys.describe(parent), keys.describe(child)])

_message("NoMatchingListenerHostname", parent, child) := sprintf("none of the hostnames of %s is one of %s", [keys.describe(child), keys.describe(parent)])

_message("ListenerIsolation", parent, child) := sprintf("more specific listeners take all requests for the hostnames of %s from %s", [keys.describe(child), keys.describe(parent)])

_message("NotAllowedByListeners", parent, child) := sprintf("%s does not accept %ss from namespace %s. Check its protocol and allowedRoutes", [keys.describe(parent), parts.kind, parts.namespace]) if {
	parts := keys.parse(child)
}

_message("NotItsParent", parent, child) := sprintf("%s delegates requests to %s, which names other parents", [keys.describe(parent), keys.describe(child)])

_message("HostnamesOfDelegate", parent, child) := sprintf("%s delegates requests to %s, which must not have hostnames. A delegate uses those of the delegating route", [keys.describe(parent), keys.describe(child)])

_message("NoMatchWithin", parent, child) := sprintf("%s delegates requests to %s, none of whose matches is within the rule's matches", [keys.describe(parent), keys.describe(child)])

_message("Cycle", parent, child) := sprintf("%s is already below %s: an extension's links form a cycle, so paths end there", [keys.describe(parent), keys.describe(child)])

_message("Conflicted", parent, child) := sprintf("%s does not accept %ss here, because routes of another type use its ports. If a port has several types, the first of GRPCRoute, HTTPRoute, TLSRoute and TCPRoute applies", [keys.describe(parent), keys.parse(child).kind])

# The message of a link to or from a listener that is not accepted, or of a ListenerSet that is not allowed.
_listener_message(link) := _not_allowed_text(link.parent, link.child) if {
	link.reason == "NotAllowed"
	levels.of(link.child) == "ListenerSet"
} else := unaccepted_message(link.child) if {
	is_unaccepted(link.child)
} else := unaccepted_message(link.parent) if {
	is_unaccepted(link.parent)
}

_not_allowed_text(gateway, listener_set) := sprintf("%s does not accept ListenerSets from namespace %s. Check its allowedListeners", [
	keys.describe(gateway),
	keys.parse(listener_set).namespace,
])

unaccepted_message(listener_node) := sprintf("%s is not accepted: %s", [keys.describe(listener_node), said]) if {
	[object_key, name] := split(listener_node, "#")
	conflict := unaccepted_listeners(object_key)[name]
	said := concat("", [
		_unaccepted_text(conflict.reason, conflict.rival, object_key, listener(listener_node)),
		_merged_text(object_key, conflict.rival),
	])
}

_merged_text(object_key, rival) := ", and mergeGateways lets both Gateways share their proxies" if {
	is_merged_rival(object_key, rival)
} else := ""

_unaccepted_text("NotAllowed", gateway, listener_set, _) := _not_allowed_text(gateway, listener_set)

_unaccepted_text("HostnameConflict", rival, _, listener) := sprintf("%s has another %s listener with port %v and %s", [
	keys.describe(rival), listener.protocol, listener.port,
	_hostname_text(object.get(listener, "hostname", "")),
])

_hostname_text("") := "no hostname"
_hostname_text(hostname) := sprintf("hostname %s", [hostname]) if hostname != ""

_unaccepted_text("ProtocolConflict", rival, _, listener) := sprintf("%s has another listener with port %v that cannot share it with %s", [
	keys.describe(rival), listener.port, listener.protocol,
])
