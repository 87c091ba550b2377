package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.policy as policies

# Each path to an effective target that has a policy for requests from a namespace ("": only what is the same for all),
# with its stack, `[path, stack]` (semantics P6).
stacks(policy_kind, node, source) := [[array.concat(path, [node]), attached] |
	some path in hierarchy.counted_paths(policy_kind, above)
	attached := array.concat(_policies_at_nodes(policy_kind, path), own)
	attached != []
] if {
	above := hierarchy.paths_to_object(_same_for_all(policy_kind, node), kinds.traits(policy_kind).namespaces)
	count(above) <= hierarchy.paths_bound
	own := _policies_at(policy_kind, node)
} else := [[path, attached]] if {
	# Policies above it are ignored here, so this is an error even if no policy is attached to the target itself.
	not kinds.is_direct(policy_kind)
	hierarchy.is_crowded(keys.whole(node))
	path := [hierarchy.path_bound_mark, node]
	attached := _counted_policies(policy_kind, path)
	_acts_at_end(policy_kind, path, attached)
} else := stacks_on(policy_kind, hierarchy.kind_paths(policy_kind, node), source)

# The same for some paths of the kind. A request takes one path, and a Service may have thousands of routes.
stacks_on(policy_kind, paths, source) := [[path, attached] |
	some path in paths
	hierarchy.counts_for(path, source)
	attached := stack(policy_kind, path, source)
	attached != []
]

# The paths to a section of a route in groups with the same stack, `{attached, path, heads}`: one of the paths, and what is
# above the route on each of them, from a GatewayClass to a listener. Undefined if more than that may differ.
stacks_by_listener(policy_kind, node) := [{"attached": attached, "path": array.concat(group.path, [node]), "heads": group.heads} |
	own := _policies_at(policy_kind, node)
	some group in groups
	attached := array.concat(group.attached, own)
	attached != []
] if {
	groups := _groups_of_paths(policy_kind, _same_for_all(policy_kind, node))
}

_groups_of_paths(policy_kind, route_key) := [{"attached": array.concat(group.attached, own), "path": array.concat(group.heads[0], at_route), "heads": group.heads} |
	own := _policies_at_nodes(policy_kind, at_route)
	some group in groups
] if {
	not kinds.get(policy_kind).controllers
	levels.of(route_key) == "Route"
	groups := _groups_of_heads(policy_kind, hierarchy.parents_at("Route", route_key))
	at_route := hierarchy.step(route_key, kinds.traits(policy_kind).namespaces)
}

# The same for all routes of these listeners, so OPA computes it once for them.
_groups_of_heads(policy_kind, listeners) := [{"attached": sorted[start][0], "heads": heads} |
	starts := [place | some place, [attached, ancestors, _] in sorted; not _continues_group(sorted, place, attached, ancestors)]
	some number, start in starts
	heads := [head | some [_, _, head] in array.slice(sorted, start, array.concat(starts, [count(sorted)])[number + 1])]
] if {
	listeners != set()
	count(listeners) <= hierarchy.paths_bound
	sorted := sort([[_policies_at_nodes(policy_kind, head), _ancestors_among(policy_kind, head), head] |
		some listener in listeners
		some above in hierarchy.paths_to_gateway(keys.whole(listener), kinds.traits(policy_kind).namespaces)
		head := array.concat(above, [listener])
	])
	every entry in sorted {
		startswith(entry[2][0], "gateway.networking.k8s.io/GatewayClass/")
	}
}

_continues_group(sorted, place, attached, ancestors) if {
	array.slice(sorted[place - 1], 0, 2) == [attached, ancestors]
}

# The nodes that may be ancestors of the kind's policies, by which their statuses count.
_ancestors_among(policy_kind, nodes) := [node |
	kinds.get(policy_kind).statusShape == "Ancestors"
	some node in nodes
	levels.of(node) in {"Gateway", kinds.get(policy_kind).ancestorLevel}
]

# The object of a section at which the same policies count for requests from every namespace, because the object is below
# no frontend.
_same_for_all(policy_kind, node) := object_key if {
	_is_straight(policy_kind)
	[object_key, _] := split(node, "#")
	not index.facts(object_key).frontends
}

# The policies at a node of this kind depend only on its path.
_is_straight(policy_kind) if {
	kinds.traits(policy_kind).sourceless
	not attachment.has_class_limits(policy_kind)
	not index.has_extension_links
} else := false

# The policies of a kind on a path that count for a source, the established ones first: by level, higher first; then by
# age, older first; then by namespace/name (GEP-713, "Established and challenger policy specs"; semantics F1). A policy
# that is attached at two places of the path is listed twice (semantics P4). Each entry is `{policy, target}`.
stack(policy_kind, path, source) := counted if {
	counted := [entry | some entry in _counted_policies(policy_kind, path); _counts_for(policy_kind, entry, source)]
	_acts_at_end(policy_kind, path, counted)
} else := []

# A kind that acts at declared targets acts at a target only for requests for which a policy on that target counts
# (semantics C1).
_acts_at_end(policy_kind, _, _) if not kinds.acts_where_declared(policy_kind)

_acts_at_end(_, path, attached) if {
	some entry in attached
	entry.target == path[count(path) - 1]
}

_counts_for(policy_kind, _, _) if not kinds.is_consumer_kind(policy_kind)

# A consumer's policy, which targets another namespace, applies only to requests from its own.
_counts_for(_, entry, source) if keys.parse(entry.policy).namespace in {"-", source, keys.parse(entry.target).namespace}
_counts_for(_, entry, _) if keys.parse(entry.target).namespace == "-"

# In two parts, because many paths share their upper part and OPA computes that once for them.
_counted_policies(policy_kind, path) := array.concat(
	_policies_at_nodes(policy_kind, array.slice(path, 0, count(path) - 2)),
	_policies_at_nodes(policy_kind, array.slice(path, count(path) - 2, count(path))),
) if {
	not attachment.has_class_limits(policy_kind)
} else := [entry | some entry in _policies_at_nodes(policy_kind, path); not _is_of_other_class(policy_kind, path, entry)]

# A policy is limited at this node to paths through classes, and this is none of them (semantics T1).
_is_of_other_class(policy_kind, path, entry) if {
	limits := attachment.limits(policy_kind, entry.target)
	not attachment.runs_through(policy_kind, path, limits[entry.policy])
}

_policies_at_nodes(policy_kind, nodes) := [entry | some node in nodes; some entry in _policies_at(policy_kind, node)]

# The policies at one node, the older first. The same for all paths through it.
_policies_at(policy_kind, node) := [{"policy": policy, "target": node} | some policy in _by_age(attachment.attached_policies(policy_kind, node))]

_by_age(found) := [policy | some [_, _, policy] in sort([policies.fact(policy, "order") | some policy in found])] if {
	count(found) > 1
} else := found

# The pairs of `stacks` for each source for which statuses count, `[source, path, stack]`: for "", and for each
# namespace with a difference at an effective target, because of a consumer route or a consumer's policy on one of its
# paths (semantics P6). Pairs that are the same for two sources are counted once.
stacks_by_source(policy_kind, node) := array.concat(
	[["", path, attached] | some [path, attached] in for_all],
	[[source, path, attached] |
		some source in _consumers(policy_kind, node)
		some [path, attached] in stacks(policy_kind, node, source)
		not [path, attached] in for_all
	],
) if for_all := stacks(policy_kind, node, "")

_consumers(policy_kind, node) := {namespace |
	not _same_for_all(policy_kind, node)
	some path in hierarchy.kind_paths(policy_kind, node)
	some namespace in (hierarchy.consumers(path) | {keys.parse(entry.policy).namespace |
		kinds.is_consumer_kind(policy_kind)
		some entry in _counted_policies(policy_kind, path)
		not _counts_for(policy_kind, entry, "")
	})
}

# The sources for which effective policies may differ at a target: "", these namespaces, and each for which a path does
# not count because its consumer route replaces the producer's (semantics P6).
differing_sources(policy_kind, node) := array.concat([""], sort(_consumers(policy_kind, node) | {namespace |
	not _same_for_all(policy_kind, node)
	some path in hierarchy.kind_paths(policy_kind, node)
	some namespace in hierarchy.replacing_consumers(path)
}))
