package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: How to make a link count, as a message.
rejection_message(link) := sprintf("%s does not exist", [_named(link.parent)]) if {
	link.reason == "ParentNotFound"
} else := sprintf("%s does not exist", [_named(link.child)]) if {
	link.reason in {"BackendNotFound", "ChildNotFound"}
	not _is_port_of_service(link.child)
} else := sprintf("Service %s has no port %s", [keys.short(link.child), keys.parse(link.child).section]) if {
	link.reason == "BackendNotFound"
} else := sprintf("port %s of Service %s is not for %s: its protocol is %s", [
	keys.parse(link.child).section,
	keys.short(link.child),
	{true: "UDP", false: "TCP"}[keys.parse(link.parent).kind == "UDPRoute"],
	concat(" and ", sort({port_protocol(port) |
		parts := keys.parse(link.child)
		some port in ports(parts.object)
		sprintf("%v", [port.port]) == parts.section
	})),
]) if {
	link.reason == "UnsupportedProtocol"
} else := sprintf("no ReferenceGrant in namespace %s lets %s name %s", [
	keys.parse(link.child).namespace,
	_named(link.parent),
	_named(link.child),
]) if {
	link.reason == "RefNotPermitted"
} else := sprintf("%s has no listener or port with the sectionName and port that %s names", [
	_named(link.parent),
	_named(link.child),
]) if {
	link.reason == "NoMatchingParent"
} else := sprintf("none of the hostnames of %s is one of %s", [_named(link.child), _named(link.parent)]) if {
	link.reason == "NoMatchingListenerHostname"
} else := sprintf("%s allows no %s from namespace %s: see its protocol and allowedRoutes", [
	_named(link.parent),
	keys.parse(link.child).kind,
	keys.parse(link.child).namespace,
]) if {
	link.reason == "NotAllowedByListeners"
} else := sprintf("%s is already below %s: an extension's links form a cycle, and paths are cut there", [
	_named(link.parent),
	_named(link.child),
]) if {
	link.reason == "Cycle"
} else := _not_allowed_text(link.parent, link.child) if {
	levels.of(link.child) == "ListenerSet"
} else := unaccepted_message(link.child) if {
	is_unaccepted(link.child)
} else := unaccepted_message(link.parent) if {
	is_unaccepted(link.parent)
} else := sprintf("%s accepts no %s here: routes of another type use its ports, and of GRPCRoute, HTTPRoute, TLSRoute and TCPRoute only the first counts on a port", [
	_named(link.parent),
	keys.parse(link.child).kind,
]) if {
	link.reason == "Conflicted"
}

_not_allowed_text(gateway, listener_set) := sprintf("%s allows no ListenerSet from namespace %s: see its allowedListeners", [
	_named(gateway),
	keys.parse(listener_set).namespace,
])

_is_port_of_service(node) if {
	startswith(node, "core/Service/")
	contains(node, "#")
}

# METADATA
# description: Why a listener is not accepted.
unaccepted_message(listener_node) := sprintf("%s is not accepted: %s", [_named(listener_node), _not_allowed_text(conflict.rival, object_key)]) if {
	[object_key, name] := split(listener_node, "#")
	conflict := unaccepted_listeners(object_key)[name]
	conflict.reason == "NotAllowed"
} else := sprintf("%s is not accepted: %s %s", [_named(listener_node), _named(conflict.rival), said]) if {
	[object_key, name] := split(listener_node, "#")
	conflict := unaccepted_listeners(object_key)[name]
	listener := [listener | some listener in listeners(object_key); listener.name == name][0]
	said := _conflict_text(conflict.reason, listener)
}

_conflict_text("HostnameConflict", listener) := sprintf("has another %s listener with port %v and %s", [
	listener.protocol, listener.port,
	{true: "no hostname", false: sprintf("hostname %s", [listener.hostname])}[object.get(listener, "hostname", "") == ""],
])

_conflict_text("ProtocolConflict", listener) := sprintf("has another listener with port %v that cannot share it with %s", [
	listener.port, listener.protocol,
])

_named(node) := sprintf("%s %s%s", [parts.kind, keys.short(node), suffix]) if {
	parts := keys.parse(node)
	suffix := {true: "", false: concat("", ["#", parts.section])}[parts.section == ""]
}
