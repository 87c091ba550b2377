package bridge.v1

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
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
	declared := declared_by(type, obj)
	declared != {}
}

_linked_objects := input.objects

_linked_objects := [obj | some key in input.keys; obj := lookup.get(key)] if not input.objects

# METADATA
# description: The declarations of an object of a known type, with its facts.
declared_by(type, obj) := index.links_of_type(type, obj) if {
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
