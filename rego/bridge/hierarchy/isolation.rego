package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lookup

# The implementation of a Gateway, by its GatewayClass; Gateway API's own rules if it is not known.
implementation(gateway) := object.get(implementations.by_controller, controller, implementations.specification) if {
	controller := lookup.get(index.facts(gateway).class[0]).spec.controllerName
} else := implementations.specification

# The command that prints what the proxies of a Gateway have. Undefined if its implementation has none that is known.
proxy_command(gateway) := strings.replace_n(
	{"{name}": parts.name, "{namespace}": parts.namespace, "{class}": class.metadata.name},
	implementations.proxy_commands[class.spec.controllerName],
) if {
	class := lookup.get(index.facts(gateway).class[0])
	parts := keys.parse(gateway)
}

# Other listeners take every request for these hostnames of a route (none: all) from a listener, so a link between the
# two would carry nothing (Gateway API, GatewaySpec.listeners: "requests SHOULD match at most one Listener").
is_isolated(object_key, listener, hostnames) if {
	_is_contested(object_key, listener)
	own := object.get(listener, "hostname", "")
	regex.match(`^(\*\..*)?$`, own) # no hostname is more specific than one without a wildcard
	transport := _transport(listener.protocol)
	others := _more_specific(object_key, sprintf("%v", [listener.port]), transport, own)
	others != set()
	whole := _takes_whole_names(object_key, listener.protocol)
	every name in common_hostnames(hostnames, own) {
		_is_taken(name, others, whole)
	}
}

# Another listener of the Gateway, or of a ListenerSet that names it, may take hostnames from a listener.
_is_contested(_, listener) if listener.contested

_is_contested(object_key, _) if {
	index.has_claims
	index.is_claimed(object_key)
}

# The hostnames of a route that none of the listeners which accept the route serves.
unserved_hostnames(route_key) := {name |
	some name in known.hostnames
	not _is_served(name, above)
} if {
	known := index.facts(route_key)
	count(known.hostnames) > 1
	not known.frontends
	above := parents(route_key)
	count(above) > 0
} else := set()

_is_served(name, nodes) if {
	some node in nodes
	[object_key, section] := split(node, "#")
	some listener in listeners(object_key)
	listener.name == section
	hostnames_meet([name], object.get(listener, "hostname", ""))
	not is_isolated(object_key, listener, [name])
}

# The slots of a port with its listeners' hostnames (see `index.facts`).
_transport("HTTP") := "HTTP/"
_transport("HTTPS") := "TLS/"
_transport("TLS") := "TLS/"

# The hostnames of the other accepted listeners of a port and transport that are within a hostname.
_more_specific(object_key, port, transport, hostname) := {name |
	some holder in holders_of_port(object_key, port)
	some slot, listeners_there in index.facts(holder).claims[port]
	startswith(slot, transport)
	name := trim_prefix(slot, transport)
	not name in {"", hostname}
	endswith(name, trim_prefix(hostname, "*"))
	some listener_name, _ in listeners_there
	not unaccepted_listeners(holder)[listener_name]
}

# A listener takes each hostname that its own covers. Listeners that share virtual hosts take their own only, because
# other hostnames of routes are more specific.
_takes_whole_names(object_key, protocol) := false if {
	some gateway in {object_key, taking_gateway(object_key)}
	implementations.shares_hosts(implementation(gateway), protocol)
} else := true

_is_taken(name, others, _) if name in others

_is_taken(name, others, true) if {
	some other in others
	is_below_wildcard(name, other)
}

# The hostnames that hostnames of a route (none: all) and that of a listener (empty: all) have in common, `*` for all.
common_hostnames([], hostname) := {hostname | hostname != ""} | {"*" | hostname == ""}

common_hostnames(hostnames, hostname) := {common |
	some own in hostnames
	common := _common(own, hostname)
} if {
	hostnames != []
}

_common(own, hostname) := own if {
	hostname == ""
} else := own if {
	hostname == own
} else := own if {
	is_below_wildcard(own, hostname)
} else := hostname if {
	is_below_wildcard(hostname, own)
}
