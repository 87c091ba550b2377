package bridge.index

import data.bridge.lookup

# METADATA
# description: |
#   The part of a port that a listener claims, `[port, slot]`: two listeners with equal claims are not distinct (Gateway
#   API, GatewaySpec.listeners, "Distinct Listeners"). HTTPS and TLS share their slots, because both select a listener
#   by the server name. `bridge.hierarchy.unaccepted_listeners` evaluates the claims.
claim(listener) := [sprintf("%v", [object.get(listener, "port", 0)]), _slot(object.get(listener, "protocol", ""), _claimed_hostname(listener))]

_slot(protocol, hostname) := concat("/", ["TLS", hostname]) if {
	protocol in {"HTTPS", "TLS"}
} else := protocol if {
	protocol in {"TCP", "UDP"}
} else := concat("/", [protocol, hostname])

_claimed_hostname(listener) := lower(listener.hostname) if {
	is_string(listener.hostname)
} else := ""

# METADATA
# description: The claims of listeners by port and slot, with the protocol of each listener by its name.
claims_of(listeners) := {port: slots |
	some [port, _] in {claim(listener) | some listener in listeners}
	slots := {slot: claimants |
		some [at, slot] in {claim(listener) | some listener in listeners}
		at == port
		claimants := {listener.name: object.get(listener, "protocol", "") | some listener in listeners; claim(listener) == [port, slot]}
	}
}

# METADATA
# description: The claims of listeners in the form of links, a set of `[port, slot]`.
claimed(listeners) := {claim(listener) | some listener in listeners}

# METADATA
# description: A slot is one of those that a TCP listener excludes.
is_stream(slot) if {
	slot == "TCP"
} else if {
	strings.any_prefix_match(slot, ["HTTP/", "TLS/"])
} else := false

# METADATA
# description: The ListenerSets that claim a slot of a port of a Gateway, whether the Gateway allows them or not.
claimants(gateway, port, slot) := {key |
	some key, _ in data.index.claims[gateway][port][slot]
	not key in lookup.changed_keys
} | object.get(changed_entries, ["claims", gateway, concat("\n", [port, slot])], set())

# METADATA
# description: The slots of a port of a Gateway that ListenerSets claim.
claimed_slots(gateway, port) := {slot | data.index.claims[gateway][port][slot]} | {slot |
	some joined, _ in changed_entries.claims[gateway]
	[at, slot] := split(joined, "\n")
	at == port
}

# METADATA
# description: The ListenerSets of a Gateway, whether it allows them or not.
listener_sets_of(gateway) := {key |
	some slots in data.index.claims[gateway]
	some claimants_there in slots
	some key, _ in claimants_there
	not key in lookup.changed_keys
} | {key | some keys_there in changed_entries.claims[gateway]; some key in keys_there}
