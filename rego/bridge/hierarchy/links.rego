package bridge.hierarchy

import data.bridge.attachment
import data.bridge.lib.keys

# METADATA
# description: |
#   What one object declares, as entries of `data.index`: each has a path (`[index, key…]`) under which the
#   replicator stores the value at this object's own key. A function of the object alone, never whether a link counts.
links(obj) := _edge_entries(obj) | attachment.entries(obj)

_edge_entries(obj) := {entry |
	self := keys.of(obj)
	edges := declared_edges(obj)
	some entry in ((_children_entries(edges) | _parents_entries(edges)) | _referrer_entries(self, edges))
}

# METADATA
# description: The pairs [parent, child] of whole objects that an object declares.
declared_edges(obj) := edges if {
	edges := _declared_edges(concat("/", [keys.group(obj.apiVersion), obj.kind]), obj)
} else := set()

_children_entries(edges) := {{"path": ["children", parent], "value": value} |
	some [parent, _] in edges
	value := sort({child | some [other, child] in edges; other == parent})
}

_parents_entries(edges) := {{"path": ["parents", child], "value": value} |
	some [_, child] in edges
	value := sort({parent | some [parent, other] in edges; other == child})
}

_referrer_entries(self, edges) := {{"path": ["referrers", namespace], "value": true} |
	some edge in edges
	some end in edge
	namespace := keys.parse(end).namespace
	not namespace in {"-", keys.parse(self).namespace}
}
