package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The HTTP listeners that share a port with a listener (`section`), or with those of a whole ListenerSet. Of a connection without TLS
#   a gateway knows only the port before the first request, so such listeners share what acts on connections. Empty for a whole Gateway,
#   whose ListenerSets are part of it. Listeners that are not accepted share nothing.
listeners_sharing_ports(object_key, section) := set() if {
	levels.of(object_key) == "Gateway"
	section == ""
} else := {other |
	named := {listener | some listener in _http_listeners(object_key); _is_named(listener, object_key, section)}
	some [port, _] in named
	some holder in _holders_of_port(object_key, port)
	some listener in (_http_listeners(holder) - named)
	[port, other] = listener
}

_is_named(_, _, "")

_is_named([_, node], object_key, section) if node == keys.section(object_key, section)

# The accepted listeners of an object without TLS, `[port, node]`.
_http_listeners(object_key) := {[port, keys.section(object_key, name)] |
	some port, slots in index.facts(object_key).claims
	some slot, listeners_there in slots
	startswith(slot, "HTTP/")
	some name, _ in listeners_there
	not unaccepted_listeners(object_key)[name]
}

# The objects beside which a Gateway or ListenerSet has its listeners, and the object itself.
_holders_of_port(object_key, port) := {object_key, gateway} | {listener_set |
	some slot in index.claimed_slots(gateway, port)
	some listener_set in index.claimants(gateway, port, slot)
} if {
	gateway := _whole_gateway(object_key)
} else := {object_key}

_whole_gateway(gateway) := gateway if levels.of(gateway) == "Gateway"

_whole_gateway(listener_set) := gateway if {
	gateway := taking_gateway(listener_set)
	gateway != ""
}
