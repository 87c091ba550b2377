package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.recursion

# METADATA
# description: The nodes directly above a node by links that count, without Namespaces (see `paths`).
parents(node) := {object_key} if {
	[object_key, _] := split(node, "#")
} else := listeners_above(node) | frontends_above(node) if {
	index.facts(node).endings
	not index.has_extension_links
} else := parents_of_level(levels.of(node), node) if {
	not index.has_extension_links
} else := parents_of_level(levels.of(node), node) | extension_parents(node) if {
	true
} else := extension_parents(node) if {
	index.has_extension_links
} else := set()

# METADATA
# description: The maximum number of nodes of a path. A longer path starts with `path_bound_mark`.
path_bound := recursion.step_bound

# METADATA
# description: The first element of a path that was cut at a bound, which distinguishes it from a whole path.
path_bound_mark := "…"

# METADATA
# description: |
#   All paths to a node, each from a root (a node without a parent that counts) to the node itself. A set, so two paths
#   with the same keys are one (semantics P1). A missing parent or a link that does not count is omitted (P2). Above the
#   bound on their number there is one path, which starts with `path_bound_mark` (P9). With `with_namespaces`, the
#   Namespace of a Gateway, ListenerSet, route, frontend or backend is directly above it (P3).
paths(node, with_namespaces) := {array.concat(above, [node]) | some above in _paths_to_object(object_key, with_namespaces)} if {
	not index.has_extension_links
	[object_key, _] := split(node, "#")
	not startswith(node, "core/Service/")
} else := {[path_bound_mark, node]} if {
	is_crowded(keys.whole(node))
} else := _paths_to(node, with_namespaces) if {
	not is_port(node)
} else := _extend(_paths_to(keys.parse(node).object, with_namespaces), node, with_namespaces)

# Only its class is above a Gateway, so no search is needed.
_paths_to_object(object_key, with_namespaces) := {array.concat([class | some class in index.facts(object_key).class; exists(class)], _step(object_key, with_namespaces))} if {
	index.facts(object_key).class[0]
} else := _paths_to(object_key, with_namespaces)

_paths_to(node, with_namespaces) := {[at | some on in path; some at in _step(on, with_namespaces)] | some path in _plain_paths(node)}

_plain_paths(node) := extension_paths(node) if {
	index.has_extension_links
} else := {array.reverse(path) |
	links := {above: parents(above) | some above in reach("nodes above", {node}, path_bound)}
	some path in graph.reachable_paths(links, {node})
}

# METADATA
# description: |
#   The paths to a backend, or to a port of one, that continue these paths to a rule; `with_namespaces` as in `paths`.
paths_below(aboves, node, with_namespaces) := _extend(aboves, node, with_namespaces) if {
	not is_port(node)
} else := _extend(_extend(aboves, keys.parse(node).object, with_namespaces), node, with_namespaces)

_extend(aboves, node, with_namespaces) := {array.concat(above, step) | some above in aboves} if {
	aboves != set()
	not is_port(node)
	step := _step(node, with_namespaces)
} else := {_step(node, with_namespaces)} if {
	not is_port(node)
} else := extended if {
	extended := {array.concat(above, [node]) | some above in aboves; reaches_port(above, node)}
	count(extended) > 0
} else := {array.concat(_step(keys.parse(node).object, with_namespaces), [node])}

# METADATA
# description: A node with the Namespace above it, if that exists.
step(node, with_namespaces) := _step(node, with_namespaces)

_step(node, with_namespaces) := [node] if {
	not with_namespaces
} else := [node] if {
	contains(node, "#")
} else := [namespace, node] if {
	parts := keys.parse(node)
	parts.namespace != "-"
	not _same_namespace_above(node)
	namespace := keys.format("", "Namespace", "", parts.namespace)
	exists(namespace)
} else := [node]

# The Namespace of a ListenerSet is already above its Gateway if both are in the same namespace.
_same_namespace_above(node) if {
	levels.of(node) == "ListenerSet"
	some gateway in parents(node)
	keys.parse(gateway).namespace == keys.parse(node).namespace
}
