package bridge.v1

import data.bridge.index
import data.bridge.kinds
import data.bridge.queries

# METADATA
# description: |
#   The objects that an OPA for questions about some routes may be without: those of `types`, and those that name only
#   objects of these types in the fields `refs` of their spec, and have none of the fields `selectors`.
#   An answer reads all of them if there is an object of the types `selecting`.
# entrypoint: true
withheld := {
	"types": sort(queries.slice_types),
	"refs": index.ref_fields,
	"selectors": index.selector_fields,
	"selecting": sort(object.keys(kinds.selecting_of(kinds.presets))),
}

# METADATA
# description: |
#   The objects that answers about the routes `targets` read, where OPA has all objects but those of `withheld`. `objects`
#   are some of these, and `withheld` has `{apiVersion, kind}` of all. The result is `{read, names}`: `read` are keys;
#   each of them that names one of `names`, `[namespace, name]`, must be among `objects`. Null: the answers may read any
#   object.
# entrypoint: true
slice := problem if {
	problem := queries.problem([["targets", "keys"]])
} else := queries.error("InvalidInput", "objects and withheld must be lists of objects") if {
	some field in ["objects", "withheld"]
	not queries.is_list(field)
} else := queries.slice
