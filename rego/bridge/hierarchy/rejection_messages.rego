package bridge.hierarchy

import data.bridge.lib.keys

# METADATA
# description: What a person can do about a link that does not count.
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
} else := sprintf("%s stands below %s already: an extension's links make a cycle, and paths are cut there", [
	_named(link.parent),
	_named(link.child),
]) if {
	link.reason == "Cycle"
} else := sprintf("%s allows no ListenerSet from namespace %s: see its allowedListeners", [
	_named(link.parent),
	keys.parse(link.child).namespace,
])

_is_port_of_service(node) if {
	startswith(node, "core/Service/")
	contains(node, "#")
}

_named(node) := sprintf("%s %s%s", [parts.kind, keys.short(node), suffix]) if {
	parts := keys.parse(node)
	suffix := {true: "", false: concat("", ["#", parts.section])}[parts.section == ""]
}
