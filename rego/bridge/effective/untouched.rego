package bridge.effective

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   True if no policy of a kind names an object on the paths to a node, so no policy of the kind applies there. A query for all
#   kinds evaluates this first, because a cluster may have the kinds of several vendors. False if the index cannot decide it.
is_untouched(policy_kind, node) if {
	not policies.may_select(policy_kind)
	is_same_for_all(policy_kind, node)
	[object_key, _] := split(node, "#")
	not hierarchy.is_crowded(object_key)
	not policy_kind in _kinds_on_paths(object_key, kinds.traits(policy_kind).namespaces)
} else := false

# The kinds of the policies that name an object or a node above it: the same for all kinds, so OPA computes it once.
_kinds_on_paths(object_key, with_namespaces) := {keys.type_of(policy) |
	some above in _objects_on_paths(object_key, with_namespaces)
	some policy in (index.policies_targeting(above) | index.oversized_policies(above))
}

_objects_on_paths(object_key, with_namespaces) := {split(above, "#")[0] |
	some parent in hierarchy.parents(object_key)
	some path in hierarchy.paths(parent, with_namespaces)
	some above in path
} | {above | some above in hierarchy.step(object_key, with_namespaces)}
