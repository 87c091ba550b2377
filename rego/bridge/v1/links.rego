package bridge.v1

import data.bridge.constraints as judging
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as declaring
import data.bridge.queries

# METADATA
# description: |
#   What the replicator stores of each of `objects` (whole), or of stored objects `keys`, besides the object, by key,
#   `{entries, facts?}`. `entries` are those of the index (see [documents](documents.md#dataindex)), `{path, value}`: the
#   part and its keys, without the object's own key at the end. An object that declares nothing is absent. A client that
#   sends only the fields of `link_fields` lists these fields in `reads`.
# entrypoint: true
links := queries.error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	not queries.is_list("objects")
	not queries.is_list("keys")
} else := queries.error("OtherFields", "links reads other fields now than reads has: query link_fields again") if {
	input.reads != link_fields
} else := {key: stored |
	some obj in object.get(input, "objects", [obj | some key in input.keys; obj := lookup.get(key)])
	type := keys.type(obj.apiVersion, obj.kind)
	key := keys.of_typed(type, obj)
	declared := _declared_by(type, obj)
	declared != {}
	stored := object.union(object.filter(declared, ["facts"]), {"entries": index.entries_of(key, declared)})
}

# The declarations of an object of a known type, with its facts.
_declared_by(type, obj) := {"facts": judging.facts(obj)} if {
	type == judging.type
} else := declaring.declared_by(type, obj) if {
	kinds.get(type)
} else := object.union(index.links_of_type(type, obj), declaring.declared_bindings(type, obj)) if {
	kinds.sets.binding[type]
} else := object.union(index.links_of_type(type, obj), {
	"bound": index.placing_entries(keys.of(obj), kinds.sets.placing[type]),
	"facts": {"by": kinds.placing_stamp(type)},
}) if {
	kinds.sets.placing[type]
} else := index.links_of_type(type, obj)

# METADATA
# description: |
#   The fields that `links` reads, as JSON Pointers (`*`: each item of a list); an object that has a field of `{"with":
#   pointer}`, or the type of `{"type": type}`, is read as a whole, without its status and other metadata. Null while
#   modules of admins declare links or levels.
# entrypoint: true
link_fields := null if {
	index.link_fields == null
} else := array.flatten([index.link_fields, declaring.fields_of_facts, [{"type": type} |
	some type in sort((({judging.type} | object.keys(kinds.sets.selecting)) | object.keys(kinds.sets.binding)))
]])

# METADATA
# description: The types of the objects whose status is read, too, so a change of it concerns what a change of their spec does.
# entrypoint: true
linking_statuses := sort({type | some type in declaring.binding_in_status} | object.keys(implementations.refusing))

# METADATA
# description: |
#   The objects whose links are equal except for texts, `{types, texts, unread}`: of two objects of one of `types` that
#   differ in `link_fields` only in the fields `unread`, and in the texts at the pointers `texts` (equal ones in the same
#   places), the links have the same differences. Null while modules of admins declare links or levels.
# entrypoint: true
link_shapes := null if {
	index.link_shapes == null
} else := object.union(index.link_shapes, {"types": sort(index.link_shapes.types - kinds.names)})

# METADATA
# description: |
#   By type, `<group>/<Kind>`, the current inputs of its facts besides the object: the `by` that stored facts must have to
#   count. A type whose facts depend only on the object, or that has no facts, is absent or has the stamp "".
# entrypoint: true
stamps := object.union_n([
	{type: index.stamp | some type, level in levels.by_type; level.section in {"Listener", "Rule"}},
	{type: kinds.placing_stamp(type) | some type, _ in kinds.sets.placing},
	{type: kinds.binding_stamp(type) | some type, _ in kinds.sets.binding},
	{kind: kinds.stamp(kind) | some kind in kinds.names},
])

# METADATA
# description: Those of `keys` whose stored facts differ from the facts of the stored object.
# entrypoint: true
stale_facts := queries.error("InvalidInput", "keys must be a list of keys") if {
	not queries.is_list("keys")
} else := [key |
	some key in input.keys
	[group, kind, namespace, name] := split(key, "/")
	stored := [facts | facts := data.facts[group][kind][namespace][name]]

	# Stored facts have lists where computed ones may have sets.
	computed := [json.unmarshal(json.marshal(facts)) | facts := _declared_by(keys.type_of(key), lookup.get(key)).facts]
	stored != computed
]

# METADATA
# description: |
#   The resourceVersion of every object in OPA (empty if it has none), by group, Kind, namespace and name. The replicator
#   compares it with its own writes. The rule avoids that OPA reads objects as a whole.
# entrypoint: true
resource_versions := {group: {kind: {namespace: {name: version |
	version := object.get(data.objects[group][kind][namespace][name].metadata, "resourceVersion", "")
} |
	data.objects[group][kind][namespace]
} |
	data.objects[group][kind]
} |
	data.objects[group]
}

# METADATA
# description: The number of entries in each part of `data.index`, to compare with the bridge's own writes.
# entrypoint: true
index_sizes := {part: _entries(part) | data.index[part]}

# The depth of the parts: docs/appendix/documents.md, `data.index`.
_entries(part) := count([1 | _ = data.index[part][_][_][_][_]]) if part in {"children", "parents", "claims", "selectors"}
_entries("served") := count([1 | _ = data.index.served[_][_][_][_][_]])
_entries(part) := count([1 | _ = data.index[part][_][_][_]]) if part in {"attached", "own", "referrers"}
_entries(part) := count([1 | _ = data.index[part][_][_]]) if part in {"bindings", "bound", "extended", "members", "limited", "oversized", "selecting", "targeted"}

# METADATA
# description: |
#   The results of extension modules of the hierarchy that have an invalid form and are therefore ignored, `{module,
#   message}`. With `objects` the links that they declare for these are checked too.
# entrypoint: true
extension_problems := queries.error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	input.objects
	not queries.is_list("objects")
} else := [{"module": module, "message": message} |
	some [module, message] in sort(index.extension_problems | {problem |
		some obj in object.get(input, "objects", [])
		some problem in index.extension_link_problems(obj)
		keys.of(obj)
	})
]
