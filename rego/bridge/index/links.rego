package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   What one object declares, as entries of `data.index`: each has a path (`[index, key…]`) under which the
#   replicator stores the value at this object's own key. A function of the object alone, never whether a link counts.
#   A first fill asks for those of every object: what is the same for many of them is a function of that alone, which OPA
#   makes once a query.
links(obj) := array.concat(_links_of(levels.of_type(type), type, obj), [entry | some entry in target_entries(obj)]) if {
	count(link_modules) == 0
	type := keys.type(obj.apiVersion, obj.kind)
} else := [entry | some entry in union({
	_edge_entries(keys.of(obj), declared_edges(obj) | {[keys.whole(parent), child] | some [parent, child] in extension_links(obj)}),
	_extended_entries(extension_links(obj)),
	{entry | some entry in _served_of(keys.type(obj.apiVersion, obj.kind), obj)},
	target_entries(obj),
})]

# What the object's level lets it declare. Each level's file has what it names above and below it.
default _links_of(_, _, _) := []

_links_of("Gateway", _, obj) := _entries(keys.of(obj), named_above("Gateway", obj), set())

_links_of("ListenerSet", _, obj) := _entries(keys.of(obj), named_above("ListenerSet", obj), set())

_links_of("Route", type, obj) := array.concat(
	_entries(keys.of(obj), above, named_below("Route", obj)),
	served_entries(type, obj.spec, above),
) if {
	above := named_above("Route", obj)
}

# Every edge begins or ends at the object itself, which spares looking through all edges for each.
_entries(self, above, below) := array.flatten([
	[{"path": ["children", parent], "value": own} | some parent in above],
	[{"path": ["parents", child], "value": own} | some child in below],
	[{"path": ["parents", self], "value": _sorted(above)} | count(above) > 0],
	[{"path": ["children", self], "value": _sorted(below)} | count(below) > 0],
	_outer_entries(split(self, "/")[2], above | below),
]) if {
	own := [self]
}

_sorted(ends) := sort(ends)

_outer_entries(namespace, ends) := [entry | some entry in (_referrer_entries(namespace, ends) | _held_entries(ends))]

_served_of(type, obj) := served_entries(type, obj.spec, named_above("Route", obj)) if {
	levels.of_type(type) == "Route"
} else := []

# What extension modules link stands apart too, with its sections, because nothing in the objects says it again.
_extended_entries(links_of_modules) := {{"path": ["extended", child], "value": value} |
	some [_, child] in links_of_modules
	value := sort({parent | some [parent, other] in links_of_modules; other == child})
}

_edge_entries(self, edges) := union({
	_children_entries(edges),
	_parents_entries(edges),
	_referrer_entries(split(self, "/")[2], ends),
	_held_entries(ends),
}) if {
	ends := {end | some edge in edges; some end in edge}
}

# METADATA
# description: The pairs [parent, child] of whole objects that an object declares.
declared_edges(obj) := {[parent, self] | some parent in named_above(at, obj)} | {[self, child] | some child in named_below(at, obj)} if {
	self := keys.of(obj)
	at := levels.of_type(keys.type_of(self))
}

_children_entries(edges) := {{"path": ["children", parent], "value": value} |
	some [parent, _] in edges
	value := sort({child | some [other, child] in edges; other == parent})
}

_parents_entries(edges) := {{"path": ["parents", child], "value": value} |
	some [_, child] in edges
	value := sort({parent | some [parent, other] in edges; other == child})
}

_referrer_entries(own, ends) := {{"path": ["referrers", namespace], "value": true} |
	some namespace in ({split(end, "/")[2] | some end in ends} - {"-", own})
}

# Objects of kinds that are not listed, by namespace: only a link says that they stand in the hierarchy, below their Namespace.
_held_entries(ends) := {{"path": ["held", namespace], "value": value} |
	unlisted := {keys.parse(end).object |
		some end in ends
		not strings.any_prefix_match(end, ["gateway.networking.k8s.io/", "core/"])
		not levels.by_type[keys.type_of(end)]
	}
	some namespace in {split(end, "/")[2] | some end in unlisted}
	value := sort([end | some end in unlisted; split(end, "/")[2] == namespace])
}
