package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# Within a Gateway and its ListenerSets each listener must be distinct. The Gateway precedes its ListenerSets, which are
# ordered by age and name. A listener that conflicts with one of an earlier object loses, as if it did not exist.
# Listeners of one object that conflict with each other are all in conflict, because none of them may win (Gateway API,
# GatewaySpec.listeners, "Handling indistinct Listeners"; ListenerSetSpec.listeners).

# METADATA
# description: |
#   The listeners of a Gateway or ListenerSet that conflict with others, by name: `{reason, rival}`, the reason of the
#   listener's Conflicted condition (Gateway API, ListenerConditionReason), and the object of the other listener.
listener_conflicts(object_key) := _own_conflicts(object_key) if {
	levels.of(object_key) == "Gateway"
} else := object.union(_own_conflicts(object_key), _lost(object_key)) if {
	taking_gateway(object_key) != ""
} else := _own_conflicts(object_key)

# METADATA
# description: The Gateway that accepts a ListenerSet; empty if none does.
taking_gateway(listener_set) := gateway if {
	gateway := index.gateway_of(lookup.get(listener_set))
	listener_set_rejection(listener_set, gateway) == ""
} else := ""

# Conflicts between listeners of one object.
_own_conflicts(object_key) := {name: {"reason": reason, "rival": object_key} |
	some port, slots in index.facts(object_key).claims
	some slot, listeners in slots
	some name, protocol in listeners
	reason := _own_conflict(object_key, port, slots, slot, object.remove(listeners, [name]), protocol)
}

_own_conflict(object_key, port, slots, slot, others, protocol) := "ProtocolConflict" if {
	index.is_stream(slot)
	slots.TCP
	count([1 | some other, _ in slots; index.is_stream(other)]) > 1
	_is_first(object_key, port)
} else := _slot_conflict(slot, others, protocol) if {
	count(others) > 0
}

# If the TCP listener of a ListenerSet loses, its other listeners may use the port.
_is_first(object_key, port) if {
	levels.of(object_key) == "Gateway"
} else if {
	taking_gateway(object_key) == ""
} else if {
	_first_at(taking_gateway(object_key), port) == object_key
}

# The conflict of two listeners in one slot of a port.
_slot_conflict(slot, others, protocol) := "HostnameConflict" if {
	not slot in {"TCP", "UDP"}
	protocol in {other | some other in others}
} else := "ProtocolConflict"

# The listeners of a ListenerSet that lose to earlier objects of its Gateway.
_lost(listener_set) := {name: {"reason": reason, "rival": rival} |
	gateway := taking_gateway(listener_set)
	some port, slots in index.facts(listener_set).claims
	some slot, listeners in slots
	[rival, others] := _earlier(gateway, port, slot, listener_set)
	some name, protocol in listeners
	reason := _slot_conflict(slot, others, protocol)
}

# The object that precedes a ListenerSet at a slot, with its listeners in that slot.
_earlier(gateway, port, slot, listener_set) := [first, {}] if {
	index.is_stream(slot)
	tcp_claimed(gateway, port)
	first := _first_at(gateway, port)
	first != listener_set
	_excludes(first, port, slot)
} else := [first, index.facts(first).claims[port][slot]] if {
	first := _first_in(gateway, port, slot)
	first != listener_set
}

# A TCP listener cannot share its port with another TCP listener, or with HTTP, HTTPS or TLS.
_excludes(_, _, "TCP")

_excludes(first, port, slot) if {
	slot != "TCP"
	index.facts(first).claims[port].TCP
}

# METADATA
# description: A port has a TCP listener. Only there the order of objects on the port matters.
tcp_claimed(gateway, port) if {
	index.facts(gateway).claims[port].TCP
} else if {
	count(index.claimants(gateway, port, "TCP")) > 0
}

# The first object that has a listener of a stream on a port.
_first_at(gateway, port) := gateway if {
	some slot, _ in index.facts(gateway).claims[port]
	index.is_stream(slot)
} else := _oldest({key |
	some slot in index.claimed_slots(gateway, port)
	index.is_stream(slot)
	some key in index.claimants(gateway, port, slot)
})

_first_in(gateway, port, slot) := gateway if {
	index.facts(gateway).claims[port][slot]
} else := _oldest(index.claimants(gateway, port, slot))

# ListenerSets that their Gateway does not accept are ignored.
_oldest(listener_sets) := sort({[lookup.age(key), keys.alphabetical(key), key] |
	some key in listener_sets
	taking_gateway(key) != ""
})[0][2]
