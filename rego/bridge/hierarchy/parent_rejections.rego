package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: Each node that a parentRef selects, with the reason why it does not accept the route, empty if it does.
parent_rejections(node, route_key, section, port) := {node: mesh_rejection(node, route_key, section, port)} if {
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
