package bridge.v1

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.queries

# METADATA
# description: |
#   `neighbors`: the objects whose links may count otherwise after a change of the objects `keys`: those that name them as a
#   parent or backend, what a changed Namespace holds, and what refers into a namespace whose grants changed.
# entrypoint: true
neighbors := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("keys") if {
	queries.keys_problem("keys")
} else := sort({keys.object_of(node) | some key in input.keys; some node in _neighbors_of(key)})

_neighbors_of(key) := (hierarchy.step_below(key) | index.declared_parents(key)) | _granted(key)

_granted(key) := index.referrers(keys.parse(key).namespace) if {
	keys.parse(key).type == "gateway.networking.k8s.io/ReferenceGrant"
} else := set()
