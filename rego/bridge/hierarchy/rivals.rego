package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The objects whose listeners or links an object affects because both claim the same: for a ListenerSet the
#   ListenerSets with equal claims at their Gateway (see `unaccepted_listeners`), for a Namespace those of its
#   ListenerSets, for a route the routes of other types at its frontends (see `mesh_ports`). The object itself is not
#   included.
rivals(object_key) := {rival | some path in _claims_of(object_key); some rival in rivals_at(object_key, path)} - {object_key}

# METADATA
# description: |
#   The same for an index path, `["claims", gateway, port, slot]` or `["children", frontend]`, that an object has or
#   had: the routes that remain at a frontend may be of one type, other than that of the route that left.
rivals_at(object_key, path) := union({index.claimants(gateway, port, other) |
	["claims", gateway, port, slot] = path
	some other in _slots_against(gateway, port, slot)
}) | {route_key |
	["children", frontend_node] = path
	keys.is_frontend(frontend_node)
	siblings := index.declared_children(frontend_node)
	count({keys.type_of(sibling) | some sibling in (siblings | {object_key})}) > 1
	some route_key in siblings
}

_slots_against(gateway, port, slot) := ({slot} | {other |
	index.is_stream(slot)
	tcp_claimed(gateway, port)
	some other in index.claimed_slots(gateway, port)
	index.is_stream(other)
}) | {other |
	slot == "TCP"
	some other in index.claimed_slots(gateway, port)
	index.is_stream(other)
}

_claims_of(object_key) := _claims_in(object_key) if {
	startswith(object_key, _listener_set)
} else := {path |
	some name, _ in lookup.objects_in(trim_suffix(_listener_set, "/"), keys.parse(object_key).name)
	some path in _claims_in(concat("", [_listener_set, keys.parse(object_key).name, "/", name]))
} if {
	keys.type_of(object_key) == "core/Namespace"
} else := {["children", ref.node] | some ref in index.facts(object_key).frontends} if {
	index.facts(object_key).frontends
} else := set()

_claims_in(listener_set) := {["claims", gateway, port, slot] |
	gateway := index.gateway_of(lookup.get(listener_set))
	some port, slots in index.facts(listener_set).claims
	some slot, _ in slots
}

_listener_set := "gateway.networking.k8s.io/ListenerSet/"
