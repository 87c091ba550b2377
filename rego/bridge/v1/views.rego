package bridge.v1

import data.bridge.answers as answering
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as declaring
import data.bridge.queries
import data.bridge.views

# METADATA
# description: |
#   What an OPA with the answers of a view looks up about `objects`, and of `above` only the targets below them: `[path,
#   value]` by object. `within` are the keys of the view, `failure` is an error in place of effective policies.
# entrypoint: true
answers := problem if {
	problem := queries.problem([["objects", "keys"], ["above", "keys"], ["within", "keys"]])
} else := object.union(
	{object_key: answering.of_targets(object_key) | some object_key in input.above},
	{object_key: answering.of_object(object_key) | some object_key in input.objects},
)

# METADATA
# description: |
#   What an OPA with a view needs, to answer at `roots` and below like an OPA with everything. About what is `complete`,
#   objects and frontends, it has all.
# entrypoint: true
view := object.union(view_keys, {"complete": complete, "objects": {key: lookup.get(key) | some key in view_keys.keys}, "links": linked, "kinds": kinds.active_kinds, "kind_sets": kinds.sets}) if {
	linked := links with input as {"keys": view_keys.keys}
	complete := {key | some root in view_keys.roots; some key in hierarchy.objects_below(root)}
} else := view_keys

# METADATA
# description: |
#   The roots of a view that exist, with the Gateways that share proxies with one below them, all its keys, with those of missing
#   objects, those `below` the roots, and its `marks`: a change that has one of them concerns the view (query `outdated`).
# entrypoint: true
view_keys := problem if {
	problem := queries.emptied
} else := problem if {
	problem := queries.problem([["roots", "keys"], ["types", "types"]])
} else := {
	"roots": roots,
	"below": sort({keys.object_of(key) | some root in roots; some key in hierarchy.objects_below(root)}),
	"keys": sort(within),
	"marks": sort(views.marks(roots, within)),
} if {
	selected := [ref.object | some ref in declaring.selected_refs("-", "core/Namespace", input.namespaceSelector)]
	roots := views.with_merged({key | some key in array.concat(input.roots, selected); lookup.has_object(key)})
	inside := views.keys_below(roots) | {key | some type in input.types; some key in lookup.keys_of(type)}
	within := inside | {key | some type in {keys.type_of(key) | some key in inside}; key := kinds.crds[type].key}
}
