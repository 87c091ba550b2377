package bridge.effective

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   The policy kinds that may have policies at a node. All others have none there, because no policy of theirs names an
#   object on the paths to it. A query for all kinds evaluates this first, because a cluster may have the kinds of
#   several vendors: what it costs for each node does not depend on the number of kinds.
kinds_at(node) := _undecided_kinds | _kinds_on_paths(object_key) if {
	[object_key, _] := split(node, "#")
	not index.has_extension_links
	not index.facts(object_key).frontends
	not hierarchy.is_crowded(object_key)
} else := kinds.in_use

# The kinds for which the objects on the paths do not decide it: policies may select them or limit their class, or the
# effective policies depend on the source of requests.
_undecided_kinds := (policies.selecting_kinds | index.class_limited_kinds) | {kind |
	some kind, traits in _traits
	not traits.sourceless
}

_traits := {kind: kinds.traits(kind) | some kind in kinds.in_use}

# The kinds of the policies that name an object or a node above it.
_kinds_on_paths(object_key) := {keys.type_of(policy) |
	some above in _objects_on_paths(object_key)
	some policy in (index.policies_targeting(above) | index.oversized_policies(above))
}

_objects_on_paths(object_key) := {split(above, "#")[0] |
	some with_namespaces in _path_variants
	some parent in hierarchy.parents(object_key)
	some path in hierarchy.paths(parent, with_namespaces)
	some above in path
} | {above | some with_namespaces in _path_variants; some above in hierarchy.step(object_key, with_namespaces)}

# Whether paths name Namespaces, for each kind.
_path_variants := {traits.namespaces | some traits in _traits}
