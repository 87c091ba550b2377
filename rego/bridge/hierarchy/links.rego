package bridge.hierarchy

import data.bridge.attachment
import data.bridge.lib.keys

# METADATA
# description: |
#   What one object declares, as entries of `data.index`: each has a path (`[index, key…]`) under which the
#   replicator stores the value at this object's own key. A function of the object alone, never whether a link counts.
links(obj) := _edge_entries(keys.of(obj), declared_edges(obj)) | attachment.entries(obj) if {
	count(_link_modules) == 0
} else := union({
	_edge_entries(keys.of(obj), declared_edges(obj) | _link_edges(obj)),
	_extended_entries(extension_links(obj)),
	attachment.entries(obj),
})

# What extension modules link stands apart too, with its sections, because nothing in the objects says it again.
_extended_entries(links_of_modules) := {{"path": ["extended", child], "value": value} |
	some [_, child] in links_of_modules
	value := sort({parent | some [parent, other] in links_of_modules; other == child})
}

# Most edges begin or end at the object itself, which spares looking through all of them for each.
_edge_entries(_, edges) := set() if count(edges) == 0

_edge_entries(self, edges) := union({
	_children_entries(edges),
	_parents_entries(edges),
	_referrer_entries(self, edges),
	_held_entries(edges),
}) if {
	some edge in edges
	not self in edge
}

_edge_entries(self, edges) := union({
	{{"path": ["children", parent], "value": [self]} | some parent in above},
	{{"path": ["parents", child], "value": [self]} | some child in below},
	{{"path": ["parents", self], "value": sort(above)} | count(above) > 0},
	{{"path": ["children", self], "value": sort(below)} | count(below) > 0},
	_referrer_entries(self, edges),
	_held_entries(edges),
}) if {
	count(edges) > 0
	count([edge | some edge in edges; not self in edge]) == 0
	above := {parent | some [parent, child] in edges; child == self}
	below := {child | some [parent, child] in edges; parent == self}
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
	some namespace in ({split(end, "/")[2] | some edge in edges; some end in edge} - {"-", split(self, "/")[2]})
}

# Objects of kinds that are not listed, by namespace: only a link says that they stand in the hierarchy, below their Namespace.
_held_entries(edges) := {{"path": ["held", namespace], "value": value} |
	namespaces := {split(end, "/")[2]: true | some end in _unlisted(edges)}
	some namespace, _ in namespaces
	value := sort([end | some end in _unlisted(edges); split(end, "/")[2] == namespace])
}

_unlisted(edges) := {keys.parse(end).object |
	some edge in edges
	some end in edge
	not startswith(end, "gateway.networking.k8s.io/")
	not startswith(end, "core/")
	not levels[keys.parse(end).type]
}
