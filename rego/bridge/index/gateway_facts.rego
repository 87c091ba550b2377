package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The facts of a Gateway or ListenerSet: `listeners`, `sections` (their names), `nodes` (by the ending of their
#   hostname `[node, name, port, namespaces, listener]`, where `listener` has the fields that restrict route kinds),
#   `claims` (see `claims_of`), `distinct` (it is a Gateway whose listeners are distinct), `type` and `class` (the key
#   of the GatewayClass).
facts_at("Listener", type, obj) := {
	"listeners": named,
	"sections": [listener.name | some listener in named],
	"nodes": {ending: entries |
		some listener in named
		ending := hostname_ending(lower(object.get(listener, "hostname", "")))
		entries := [_entry_of(self, other) | some other in named; hostname_ending(lower(object.get(other, "hostname", ""))) == ending]
	},
	"claims": claims_of(named),
	"distinct": _are_distinct(type, claims_of(named)),
	"by": stamp,
	"type": type,
	"class": [keys.format(keys.gateway_api, "GatewayClass", "", obj.spec.gatewayClassName) | levels.of_type(type) == "Gateway"],
} if {
	self := keys.of(obj)
	named := named_listeners(object.get(obj.spec, "listeners", []))
}

_entry_of(self, listener) := [
	keys.section(self, listener.name),
	listener.name,
	object.get(listener, "port", 0),
	object.get(listener, ["allowedRoutes", "namespaces"], {}),
	{
		"protocol": object.get(listener, "protocol", ""),
		"tls": {"mode": object.get(listener, ["tls", "mode"], "Terminate")},
		"allowedRoutes": {"kinds": object.get(listener, ["allowedRoutes", "kinds"], [])},
	},
]

# The listeners of a Gateway are compared with each other only, those of a ListenerSet also with earlier objects.
_are_distinct(type, claims) if {
	levels.of_type(type) == "Gateway"
	every slots in claims {
		every listeners in slots {
			count(listeners) == 1
		}
		_tcp_is_alone(slots)
	}
} else := false

_tcp_is_alone(slots) if not slots.TCP

_tcp_is_alone(slots) if count([1 | some slot, _ in slots; is_stream(slot)]) == 1
