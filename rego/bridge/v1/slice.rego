package bridge.v1

import data.bridge.index
import data.bridge.kinds
import data.bridge.queries

# METADATA
# description: |
#   The objects that an OPA for questions about some routes may be without: those of `types`, and those that name only
#   objects of these types in the fields `refs` of their spec, and have none of the fields `selectors`.
#   An answer reads all of them if there is an object of the types `selecting`. One with a text of `several` in its spec
#   may name several objects at once.
# entrypoint: true
withheld := {
	"types": sort(queries.slice_types),
	"refs": index.ref_fields,
	"selectors": index.selector_fields,
	"several": index.texts_of_several,
	"selecting": sort(object.keys(kinds.selecting_of(kinds.presets))),
}

# METADATA
# description: |
#   The objects that answers read about what is in effect at the routes, and below the targets of the policies, `targets`,
#   and about the problems of the objects `subjects`, where OPA has all objects but those of `withheld`. `objects` are some
#   of these, or other states of objects, and `withheld` has `{apiVersion, kind}` of all. The result is `{read, names}`, both
#   keys: each of the withheld objects that names one of `names` must be among `objects`, in this query or in one with these
#   names as `from`, and so must each that has a text of `several` in its spec. Null: the answers may read any object.
# entrypoint: true
slice := problem if {
	problem := queries.problem([["targets", "optional keys"], ["subjects", "optional keys"], ["from", "optional keys"]])
} else := queries.error("InvalidInput", "objects and withheld must be lists of objects") if {
	some field in ["objects", "withheld"]
	not queries.is_list(field)
} else := queries.slice
