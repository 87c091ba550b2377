package bridge.hierarchy

import data.bridge.attachment
import data.bridge.lib.keys

# METADATA
# description: |
#   What one object declares, as entries of `data.index`: each has a path (`[index, key…]`) under which the
#   replicator stores the value at this object's own key. A function of the object alone, never whether a link counts.
links(obj) := (_links_of(keys.of(obj), obj) | _served_of(obj)) | attachment.entries(obj) if {
	count(_link_modules) == 0
} else := union({
	_edge_entries(keys.of(obj), declared_edges(obj) | _link_edges(obj)),
	_extended_entries(extension_links(obj)),
	_served_of(obj),
	attachment.entries(obj),
})

# What the object's level lets it declare. Every edge begins or ends at the object itself, which spares looking through
# all edges for each.
_links_of(self, obj) := _entries(self, _named_above(at, obj), _named_below(at, obj)) if {
	at := object_level(keys.type_of(self))
	_declaring[at]
} else := set()

_entries(self, above, below) := union({
	{{"path": ["children", parent], "value": [self]} | some parent in above},
	{{"path": ["parents", child], "value": [self]} | some child in below},
	{{"path": ["parents", self], "value": sort(above)} | count(above) > 0},
	{{"path": ["children", self], "value": sort(below)} | count(below) > 0},
	_referrer_entries(self, above | below),
	_held_entries(above | below),
})

_served_of(obj) := served_entries(keys.type_of(keys.of(obj)), obj) if {
	obj.spec.parentRefs
} else := set()

# What extension modules link stands apart too, with its sections, because nothing in the objects says it again.
_extended_entries(links_of_modules) := {{"path": ["extended", child], "value": value} |
	some [_, child] in links_of_modules
	value := sort({parent | some [parent, other] in links_of_modules; other == child})
}

_edge_entries(self, edges) := union({
	_children_entries(edges),
	_parents_entries(edges),
	_referrer_entries(self, ends),
	_held_entries(ends),
}) if {
	ends := {end | some edge in edges; some end in edge}
}

# METADATA
# description: The pairs [parent, child] of whole objects that an object declares.
declared_edges(obj) := {[parent, self] | some parent in _named_above(at, obj)} | {[self, child] | some child in _named_below(at, obj)} if {
	self := keys.of(obj)
	at := object_level(keys.type_of(self))
}

# What stands above an object of a level by its own word, and what below it. Each level's file has them.
_declaring := {"Gateway", "ListenerSet", "Route"}

default _named_above(_, _) := set()

default _named_below(_, _) := set()

_children_entries(edges) := {{"path": ["children", parent], "value": value} |
	some [parent, _] in edges
	value := sort({child | some [other, child] in edges; other == parent})
}

_parents_entries(edges) := {{"path": ["parents", child], "value": value} |
	some [_, child] in edges
	value := sort({parent | some [parent, other] in edges; other == child})
}

_referrer_entries(self, ends) := {{"path": ["referrers", namespace], "value": true} |
	some namespace in ({split(end, "/")[2] | some end in ends} - {"-", split(self, "/")[2]})
}

# Objects of kinds that are not listed, by namespace: only a link says that they stand in the hierarchy, below their Namespace.
_held_entries(ends) := {{"path": ["held", namespace], "value": value} |
	unlisted := {keys.parse(end).object |
		some end in ends
		not strings.any_prefix_match(end, ["gateway.networking.k8s.io/", "core/"])
		not levels[keys.type_of(end)]
	}
	some namespace in {split(end, "/")[2] | some end in unlisted}
	value := sort([end | some end in unlisted; split(end, "/")[2] == namespace])
}
