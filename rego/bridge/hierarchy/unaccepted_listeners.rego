package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The listeners of a Gateway or ListenerSet that are not accepted and so carry nothing, by name: `{reason, rival}`. These are the
#   listeners that are in conflict (see `listener_conflicts`), and all listeners of a ListenerSet that its Gateway does not allow: of
#   those the reason is that of the ListenerSet's Accepted condition (Gateway API, ListenerSetConditionReason), the rival the Gateway.
unaccepted_listeners(object_key) := {} if {
	index.facts(object_key).distinct
} else := {} if {
	not levels.by_type[keys.type_of(object_key)].section == "Listener"
} else := {listener.name: {"reason": "NotAllowed", "rival": gateway} | some listener in listeners(object_key)} if {
	gateway := refusing_gateway(object_key)
} else := listener_conflicts(object_key)

# METADATA
# description: A node is a listener that is not accepted, or a ListenerSet that its Gateway does not allow.
is_unaccepted(node) if {
	[object_key, name] := split(node, "#")
	unaccepted_listeners(object_key)[name]
}

is_unaccepted(node) if refusing_gateway(node)
