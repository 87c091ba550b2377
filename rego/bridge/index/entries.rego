package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The links of an object in the form that the replicator writes at both ends: `{path, value}`, where the path is the
#   part of `data.index` with its keys. The object's own key completes it (docs/reference/documents.md).
entries(obj) := _entries(keys.of(obj), links(obj))

_entries(self, declared) := _target_entries(self, declared) | union({
	{{"path": ["children", parent], "value": children} | some parent, children in _ends_by(edges, 0)},
	{{"path": ["parents", child], "value": parents} | some child, parents in _ends_by(edges, 1)},
	{{"path": ["extended", child], "value": parents} | some child, parents in _ends_by(object.get(declared, "extended", set()), 1)},
	{{"path": ["members", namespace], "value": objects} | some namespace, objects in _by_namespace(object.get(declared, "members", set()))},
	_served_entries(declared),
	{{"path": ["claims", parent, port, slot], "value": true} | some parent in declared.above; some [port, slot] in declared.claims},
	{{"path": ["referrers", namespace], "value": true} |
		some namespace in ({split(end, "/")[2] | some edge in edges; some end in edge} - {"-", split(self, "/")[2]})
	},
}) if {
	edges := _edges(self, declared)
}

# The pairs [parent, child] of objects and frontends that an object declares.
_edges(self, declared) := ({[parent, self] | some parent in declared.above} | {[self, child] |
	some child in declared.below
}) | {[keys.whole(parent), child] | some [parent, child] in declared.extended}

# The other ends of the pairs, by the end at this side.
_ends_by(pairs, side) := {end: sort({pair[1 - side] | some pair in pairs; pair[side] == end}) | some end in {pair[side] | some pair in pairs}}

_by_namespace(object_keys) := {namespace: sort([key | some key in object_keys; split(key, "/")[2] == namespace]) |
	some namespace in {split(key, "/")[2] | some key in object_keys}
}

_served_entries(declared) := {{"path": ["served", parent, hostname, path], "value": true} |
	some parent in declared.above
	some hostname in declared.served.hostnames
	some path in declared.served.paths
}

# METADATA
# description: The entries of a policy of a type for what it selects, `[namespace, type, text]`.
selection_entries(type, selections) := {{"path": array.concat(["selectors"], selection), "value": true} | some selection in selections} | {{
	"path": ["selecting", type],
	"value": true,
} |
	count(selections) > 0
}

_target_entries(_, declared) := {{"path": ["oversized", key], "value": declared.oversized.message} |
	some key in declared.oversized.objects
} if {
	declared.oversized
}

_target_entries(self, declared) := union({
	{{"path": ["attached", type, target], "value": true} | some target in declared.targets},
	{{"path": ["targeted", keys.whole(target)], "value": true} | some target in declared.targets},
	{{"path": ["limited", type], "value": true} | declared.classes},
	selection_entries(type, object.get(declared, "selectors", set())),
	{{"path": ["referrers", namespace], "value": true} |
		some namespace in ({split(target, "/")[2] | some target in declared.targets} - {"-", own})
	},
}) if {
	not declared.oversized
	type := keys.type_of(self)
	own := split(self, "/")[2]
}
