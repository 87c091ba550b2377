package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   Each path to an effective target that has a policy for requests from a namespace ("": only what is the same for
#   all), with its stack, `[path, stack]` (semantics P6).
stacks(policy_kind, node, source) := [[array.concat(path, [node]), attached] |
	some [path, above] in _object_stacks(policy_kind, object_key)
	attached := array.concat(above, own)
	attached != []
] if {
	[object_key, _] := split(node, "#")
	_is_straight(policy_kind)
	not index.facts(object_key).frontends
	not hierarchy.is_crowded(object_key)
	own := _policies_at_object(policy_kind, node)
} else := [[path, attached]] if {
	# Policies above it do not count here, so this is an error even if no policy is attached to the target itself.
	not kinds.is_direct(policy_kind)
	hierarchy.is_crowded(keys.whole(node))
	path := [hierarchy.path_bound_mark, node]
	attached := stack(policy_kind, path)
	acts_at_end(policy_kind, path, attached)
} else := [[path, attached] |
	some path in _paths_for(policy_kind, node, source)
	attached := [entry | some entry in stack(policy_kind, path); counts_for(policy_kind, entry, source)]
	count(attached) > 0
	acts_at_end(policy_kind, path, attached)
] if {
	kinds.is_consumer_kind(policy_kind)
} else := [[path, attached] |
	some path in _paths_for(policy_kind, node, source)
	attached := stack(policy_kind, path)
	count(attached) > 0
]

# METADATA
# description: |
#   A kind that acts at declared targets acts at a target only for requests for which a policy on that target counts
#   (semantics C1).
acts_at_end(policy_kind, _, _) if not kinds.acts_where_declared(policy_kind)

acts_at_end(_, path, attached) if {
	some entry in attached
	entry.target == path[count(path) - 1]
}

# The policies at a node of this kind depend only on its path, for all sources.
_is_straight(policy_kind) if {
	kinds.traits(policy_kind).sourceless
	not attachment.has_class_limits(policy_kind)
	not index.has_extension_links
} else := false

# METADATA
# description: The same policies count at a section for requests from every namespace, because its object is below no frontend.
is_same_for_all(policy_kind, node) if {
	_is_straight(policy_kind)
	[object_key, _] := split(node, "#")
	not index.facts(object_key).frontends
}

# The paths to an object, sorted, each with its policies. For paths without frontends and extensions.
_object_stacks(policy_kind, object_key) := sort([[array.concat(above, step), array.concat(_policies_at_nodes(policy_kind, above), own)] |
	some parent in parents
	some above in hierarchy.counted_paths(policy_kind, hierarchy.paths(parent, with_namespaces))
]) if {
	parents := hierarchy.parents(object_key)
	parents != set()
	with_namespaces := kinds.traits(policy_kind).namespaces
	step := hierarchy.step(object_key, with_namespaces)
	own := _policies_at_nodes(policy_kind, step)
} else := [[step, _policies_at_nodes(policy_kind, step)]] if {
	step := hierarchy.step(object_key, kinds.traits(policy_kind).namespaces)
}

_policies_at_nodes(policy_kind, nodes) := [entry | some node in nodes; some entry in _policies_at_object(policy_kind, node)]

# As `policies_at`, for a node that is neither a port nor a frontend.
_policies_at_object(policy_kind, node) := [] if {
	index.is_untargeted_key(policy_kind, node)
} else := policies_at(policy_kind, node)

# Most paths have no frontend, and are the same for every source.
_paths_for(policy_kind, node, source) := {path |
	some path in hierarchy.kind_paths(policy_kind, node)
	hierarchy.counts_for(path, source)
} if {
	has_frontends(policy_kind, node)
} else := hierarchy.kind_paths(policy_kind, node)

# METADATA
# description: A path to an effective target has a mesh frontend, so effective policies can differ by the source of requests.
has_frontends(policy_kind, node) if {
	some path in hierarchy.kind_paths(policy_kind, node)
	contains(concat("", path), "@frontend")
} else := false

# METADATA
# description: A policy that targets another namespace counts only for requests from its own.
counts_for(_, entry, source) if keys.parse(entry.policy).namespace in {"-", source}

counts_for(_, entry, _) if keys.parse(entry.target).namespace in {"-", keys.parse(entry.policy).namespace}

# METADATA
# description: |
#   The policies of a kind on a path, the established ones first: by level, higher first; then by age, older first; then
#   by namespace/name (GEP-713, "Established and challenger policy specs"; semantics F1). A policy that is attached at
#   two places of the path is listed twice (semantics P4). Each entry is `{policy, target}`.
stack(policy_kind, path) := counting if {
	counting := _counted_policies(policy_kind, path)
	not kinds.acts_where_declared(policy_kind)
} else := counting if {
	# A node without a policy of its own that counts is not an effective target (semantics C1).
	counting := _counted_policies(policy_kind, path)
	some entry in counting
	entry.target == path[count(path) - 1]
} else := []

# In two parts, because many paths share their upper part and OPA computes that once for them.
_counted_policies(policy_kind, path) := array.concat(
	_at_nodes(policy_kind, array.slice(path, 0, count(path) - 2)),
	_at_nodes(policy_kind, array.slice(path, count(path) - 2, count(path))),
) if {
	not attachment.has_class_limits(policy_kind)
} else := [entry |
	some entry in _at_nodes(policy_kind, path)
	_counts(policy_kind, path, entry)
]

_at_nodes(policy_kind, nodes) := [entry | some node in nodes; some entry in policies_at(policy_kind, node)]

# METADATA
# description: The policies at one node, the older first. The same for all paths through it.
policies_at(policy_kind, node) := [] if {
	index.is_untargeted(policy_kind, node)
} else := [{"policy": policy, "target": node} |
	some policy in _by_age(attachment.attached_policies(policy_kind, node))
]

_by_age(attached) := [policy | some policy in attached] if {
	count(attached) < 2
} else := [policy |
	some [_, _, policy] in sort([policies.fact(policy, "order") | some policy in attached])
]

# Some policies are limited to paths through classes at this node (semantics T1).
_counts(policy_kind, path, entry) if {
	limits := attachment.limits(policy_kind, entry.target)
	attachment.runs_through(policy_kind, path, limits[entry.policy])
} else if {
	not attachment.limits(policy_kind, entry.target)[entry.policy]
}
