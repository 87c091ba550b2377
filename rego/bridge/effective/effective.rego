package bridge.effective

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The effective policy of one kind at one effective target, for each path that has a policy and counts for requests
#   from a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; `{path, error, policies}` if the
#   stack or the path exceeds its bound.
policies_of(policy_kind, node, source) := [entry |
	some [path, attached] in stacks(policy_kind, node, source)
	entry := entry_of(path, attached)
]

# METADATA
# description: The effective policy of a stack at a path, in the form of `policies_of`.
entry_of(path, attached) := object.union({"path": path}, _result(attached)) if {
	within_bounds(attached, path[0])
} else := {
	"path": path,
	"error": {"code": "BoundExceeded", "message": bound_message(attached, path[0])},
	"policies": _stack_entries(attached),
}

# METADATA
# description: The maximum number of policies of a stack. A longer stack is an error of its path, never a silent cut.
stack_bound := 512

# METADATA
# description: A stack and its path are within their bounds. `root` is the first node of the path.
within_bounds(attached, root) if {
	root != hierarchy.path_bound_mark
	count(attached) <= stack_bound
	policies.leaves_within_bound([entry.policy | some entry in attached])
}

# METADATA
# description: The message for a stack, or its path, above its bound.
bound_message(attached, root) := sprintf("%d policies meet here; at most %d can be merged", [count(attached), stack_bound]) if {
	root != hierarchy.path_bound_mark
	count(attached) > stack_bound
} else := sprintf("Policies with more than %d leaves meet here, which is the bound on what can be merged", [policies.leaf_bound]) if {
	root != hierarchy.path_bound_mark
} else := sprintf("More than %d paths lead to this target, or longer ones than %d objects", [hierarchy.paths_bound, hierarchy.path_bound])

_stack_entries(attached) := [object.union(entry, {"strategy": policies.strategy_of(entry.policy)}) | some entry in attached]

_result(attached) := {"error": result.error, "policies": _stack_entries(attached)} if {
	result := merged_stack(attached)
	result.error
} else := {"spec": result.spec, "origins": result.origins, "policies": [object.union_n([entry, {"strategy": policies.strategy_of(entry.policy)}, outcome(attached, entry.policy)]) |
	some entry in _distinct_entries(attached)
]} if {
	result := merged_stack(attached)
}

# METADATA
# description: |
#   The merged policies of a stack, `{spec, origins, leaves}`, or `{error}`. `leaves` are the origins with the items of
#   lists that are merged by key by their keys; absent if policies are listed instead of merged. It is a function of the
#   stack only, so OPA merges once for all targets that share the stack.
merged_stack(attached) := {"spec": side.spec, "origins": side.origins, "leaves": side.origins} if {
	# Evaluates a third fewer expressions than the general form.
	kinds.traits(kind_of(attached)).plain
	elements := order(joins(attached))
	side := _without_tombstones(merged_elements(elements, []), elements)
} else := listed_specs(attached) if {
	kinds.is_additive(kind_of(attached))
} else := elements if {
	elements := precedence(kind_of(attached), joins(attached))
	elements.error
} else := object.union(merge.result_of(side), {"leaves": side.origins}) if {
	side := merged_elements(precedence(kind_of(attached), joins(attached)), rules_of(attached))
}

# Most specs have no null.
_without_tombstones(side, elements) := merge.result_of(side) if {
	some policy in elements
	policies.facts(policy).tombstones
} else := side

# METADATA
# description: |
#   The combined policies of a stack if every one applies (strategy Additive; semantics C4), `{spec, origins}`: the list
#   of their specs in the order of the kind, then of the stack, and each item's policy by the item's JSON pointer.
listed_specs(attached) := {
	"spec": [policies.facts(policy).spec | some policy in in_order],
	"origins": {sprintf("/%d", [place]): policy | some place, policy in in_order},
} if {
	in_order := [policy |
		some [_, _, policy] in sort([[object.get(policies.facts(entry.policy), "rank", []), place, entry.policy] |
			some place, entry in _distinct_entries(attached)
		])
	]
}

# METADATA
# description: The policy kind of a stack.
kind_of(attached) := keys.type_of(attached[0].policy)

# A policy that is attached at two places of the path is listed at the first (semantics P4).
_distinct_entries(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry |
	some index, entry in attached
	not entry.policy in {earlier.policy | some earlier in array.slice(attached, 0, index)}
]

# METADATA
# description: |
#   The result of `policies_of` for only these paths to an effective target. A request takes one path, while a Service
#   may have thousands of routes.
policies_on(policy_kind, paths_to_node, source) := [entry |
	some path in hierarchy.counted_paths(policy_kind, paths_to_node)
	hierarchy.counts_for(path, source)
	attached := [placed | some placed in stack(policy_kind, path); _counts_on(policy_kind, placed, source)]
	count(attached) > 0
	acts_at_end(policy_kind, path, attached)
	entry := entry_of(path, attached)
]

_counts_on(policy_kind, _, _) if not kinds.is_consumer_kind(policy_kind)

_counts_on(policy_kind, placed, source) if {
	kinds.is_consumer_kind(policy_kind)
	counts_for(policy_kind, placed, source)
}

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

# METADATA
# description: |
#   The sources for which statuses count: "", and each namespace with a difference at an effective target, because of a
#   consumer route or a consumer's policy on one of its paths (semantics P6).
sources(policy_kind, node) := [""] if {
	is_same_for_all(policy_kind, node)
} else := array.concat([""], sort(_consumers(policy_kind, node))) if {
	_by_source(policy_kind, node)
} else := [""]

_by_source(policy_kind, node) if {
	kinds.is_consumer_kind(policy_kind)
} else := has_frontends(policy_kind, node)

_consumers(policy_kind, node) := {namespace |
	some path in hierarchy.kind_paths(policy_kind, node)
	some namespace in hierarchy.consumers(path)
} | {namespace |
	kinds.is_consumer_kind(policy_kind)
	some path in hierarchy.kind_paths(policy_kind, node)
	some entry in stack(policy_kind, path)
	not counts_for(policy_kind, entry, "")
	namespace := keys.parse(entry.policy).namespace
}

# METADATA
# description: |
#   The sources for which effective policies may differ at a target: `sources`, and each namespace for which a path does
#   not count because its consumer route replaces the producer's (semantics P6).
differing_sources(policy_kind, node) := [""] if {
	is_same_for_all(policy_kind, node)
} else := array.concat([""], sort(found)) if {
	found := {source | some source in sources(policy_kind, node); source != ""} | {namespace |
		some path in hierarchy.kind_paths(policy_kind, node)
		some namespace in hierarchy.replacing_consumers(path)
	}
}

# METADATA
# description: |
#   The `[path, stack]` pairs that count for a source only; for "" all pairs. Pairs that are the same for two sources
#   are counted once.
distinct_stacks(policy_kind, node, source) := stacks(policy_kind, node, source) if {
	source == ""
} else := [counted |
	some counted in stacks(policy_kind, node, source)
	not counted in stacks(policy_kind, node, "")
]
