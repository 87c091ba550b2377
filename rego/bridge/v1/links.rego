package bridge.v1

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies
import data.bridge.queries

# METADATA
# description: |
#   `links`: the declarations of each of `objects`, by key, `{above?, below?, served?, extended?, members?, targets?,
#   classes?, selectors?, oversized?, facts?}` (see [documents](documents.md#dataindex)), which the replicator stores in
#   the index and as facts. An object that declares nothing is absent. With `keys` instead, the same for stored objects.
#   A client that sends only the fields of `link_fields` lists these fields in `reads`.
# entrypoint: true
links := queries.error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	not queries.is_list("objects")
	not queries.is_list("keys")
} else := queries.error("OtherFields", "links reads other fields now than reads has: query link_fields again") if {
	object.get(input, "reads", link_fields) != link_fields
} else := {key: declared |
	some obj in _linked_objects
	type := keys.type(obj.apiVersion, obj.kind)
	key := keys.of_typed(type, obj)
	declared := _declared_by(type, obj)
	declared != {}
}

_linked_objects := object.get(input, "objects", [obj | some key in input.keys; obj := lookup.get(key)])

# The declarations of an object of a known type, with its facts.
_declared_by(type, obj) := index.links_of_type(type, obj) if {
	not kinds.get(type)
} else := policies.declared_by(type, obj)

# METADATA
# description: |
#   `link_fields`: the fields that `links` reads, as JSON Pointers (`*`: each item of a list); an object that has a
#   field of `{"with": pointer}`, or the type of `{"type": type}`, is read as a whole, without its status and other
#   metadata. Null while modules of admins declare links or levels.
# entrypoint: true
link_fields := null if {
	index.link_fields == null
} else := array.concat(index.link_fields, [{"type": type} | some type in sort(kinds.selecting_kinds)])

# METADATA
# description: |
#   `neighbors`: the objects whose links a change of the objects `keys` may affect: those that name them as a parent or
#   backend, the objects in a changed Namespace, those with references into a namespace whose grants changed, and those
#   that share a port with them.
# entrypoint: true
neighbors := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := sort({keys.object_of(node) | some key in input.keys; some node in _neighbors_of(key)})

_neighbors_of(key) := union({
	hierarchy.step_below(key),
	index.declared_parents(key),
	_granted(key),
	_sharing_a_port(key),
})

_sharing_a_port(key) := rivals | {below | some rival in rivals; some below in hierarchy.step_below(rival)} if {
	rivals := hierarchy.rivals(key)
}

# A link that a grant allows belongs to the referring object and to the referenced one.
_granted(key) := referrers | {child |
	some referrer in referrers
	some child in index.declared_children(referrer)
	keys.namespace(child) == namespace
} if {
	keys.parse(key).type == "gateway.networking.k8s.io/ReferenceGrant"
	namespace := keys.parse(key).namespace
	referrers := index.referrers(namespace)
} else := set()

# METADATA
# description: |
#   `stamps`: by type, `<group>/<Kind>`, the current inputs of its facts besides the object: the `by` that stored facts
#   must have to count. A type whose facts depend only on the object, or that has no facts, is absent or has the stamp
#   "".
# entrypoint: true
stamps := object.union(
	{type: index.stamp | some type, level in levels.by_type; level.section in {"Listener", "Rule"}},
	{kind: kinds.stamp(kind) | some kind in kinds.names},
)

# METADATA
# description: |
#   `stale_facts`: those of `keys` whose stored facts differ from the facts of the stored object.
# entrypoint: true
stale_facts := queries.error("InvalidInput", "keys must be a list of keys") if {
	not queries.is_list("keys")
} else := [key |
	some key in input.keys
	_stored(key) != _stored_form(key)
]

_stored(key) := data.facts[group][kind][namespace][name] if {
	[group, kind, namespace, name] := split(key, "/")
} else := null

# Stored facts have lists where computed ones may have sets.
_stored_form(key) := json.unmarshal(json.marshal(_declared_by(keys.type_of(key), lookup.get(key)).facts)) if {
	true
} else := null

# METADATA
# description: |
#   `resource_versions`: the resourceVersion of every object in OPA (empty if it has none), by group, Kind, namespace
#   and name. The replicator compares it with its own writes. The rule avoids that OPA reads objects as a whole.
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
# description: |
#   "`index_sizes`: the number of entries in each part of `data.index`, to compare with the bridge's own writes."
# entrypoint: true
index_sizes := {part: _entries(part) | data.index[part]}

# The depth of the parts: docs/reference/documents.md, `data.index`.
_entries(part) := count([1 | _ = data.index[part][_][_][_][_]]) if part in {"children", "parents"}
_entries("served") := count([1 | _ = data.index.served[_][_][_][_][_]])
_entries(part) := count([1 | _ = data.index[part][_][_][_][_]]) if part in {"claims", "selectors"}
_entries(part) := count([1 | _ = data.index[part][_][_][_]]) if part in {"attached", "own", "referrers"}
_entries(part) := count([1 | _ = data.index[part][_][_]]) if part in {"extended", "members", "limited", "oversized", "selecting", "targeted"}

# METADATA
# description: |
#   `extension_problems`: the results of extension modules of the hierarchy that have an invalid form and are therefore
#   ignored, `{module, message}`. With `objects` the links that they declare for these are checked too.
# entrypoint: true
extension_problems := queries.error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	input.objects
	not queries.is_list("objects")
} else := [{"module": pair[0], "message": pair[1]} | some pair in sort(index.extension_problems | _link_problems)]

_link_problems := {problem |
	some obj in object.get(input, "objects", [])
	some problem in index.extension_link_problems(obj)
	keys.of(obj)
}
