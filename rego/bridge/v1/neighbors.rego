package bridge.v1

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.queries

# METADATA
# description: |
#   `neighbors`: the objects whose links a change of the objects `keys` may affect: those that name them as a parent or
#   backend, the objects in a changed Namespace, those with references into a namespace whose grants changed, and those
#   that share a port with them.
# entrypoint: true
neighbors := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("keys") if {
	queries.keys_problem("keys")
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
