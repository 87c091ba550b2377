package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The nodes directly above a node by links that count, without Namespaces (those stand beside the path, see
#   `with_namespaces`).
parents(node) := {keys.parse(node).object} if {
	contains(node, "#")
} else := _object_parents(object_level(keys.parse(node).type), node) if {
	true
} else := set()

# METADATA
# description: How many nodes a path may have. A path that would be longer starts with `path_bound_mark`.
path_bound := 16

# METADATA
# description: The first element of a path that was cut at the bound, so that nobody takes it for a whole one.
path_bound_mark := "…"

# METADATA
# description: |
#   All paths to a node, each from a root (a node with nothing above it that counts) to the node itself. A set, so two
#   ways with the same keys are one (semantics P1). A parent that does not exist or a link that does not count is left
#   out (P2). One function a step, because Rego has no recursion; OPA computes each step once for all targets.
paths(node) := _paths_16(node)

_paths_16(node) := _extend({above | some parent in parents(node); some above in _paths_15(parent)}, node)

_paths_15(node) := _extend({above | some parent in parents(node); some above in _paths_14(parent)}, node)

_paths_14(node) := _extend({above | some parent in parents(node); some above in _paths_13(parent)}, node)

_paths_13(node) := _extend({above | some parent in parents(node); some above in _paths_12(parent)}, node)

_paths_12(node) := _extend({above | some parent in parents(node); some above in _paths_11(parent)}, node)

_paths_11(node) := _extend({above | some parent in parents(node); some above in _paths_10(parent)}, node)

_paths_10(node) := _extend({above | some parent in parents(node); some above in _paths_9(parent)}, node)

_paths_9(node) := _extend({above | some parent in parents(node); some above in _paths_8(parent)}, node)

_paths_8(node) := _extend({above | some parent in parents(node); some above in _paths_7(parent)}, node)

_paths_7(node) := _extend({above | some parent in parents(node); some above in _paths_6(parent)}, node)

_paths_6(node) := _extend({above | some parent in parents(node); some above in _paths_5(parent)}, node)

_paths_5(node) := _extend({above | some parent in parents(node); some above in _paths_4(parent)}, node)

_paths_4(node) := _extend({above | some parent in parents(node); some above in _paths_3(parent)}, node)

_paths_3(node) := _extend({above | some parent in parents(node); some above in _paths_2(parent)}, node)

_paths_2(node) := _extend({above | some parent in parents(node); some above in _paths_1(parent)}, node)

_paths_1(node) := _extend({above | some parent in parents(node); some above in _paths_0(parent)}, node)

_paths_0(node) := {[path_bound_mark, node]}

_extend(aboves, node) := {array.concat(above, [node]) | some above in aboves} if {
	count(aboves) > 0
	not is_port(node)
} else := extended if {
	is_port(node)
	extended := {array.concat(above, [node]) | some above in aboves; _reaches_port(above, node)}
	count(extended) > 0
} else := {[keys.parse(node).object, node]} if {
	is_port(node)
} else := {[node]}

# METADATA
# description: |
#   A path with the Namespace of each object that it holds directly above that object: Gateway, route, frontend,
#   backend (semantics P3). A Namespace that does not exist is left out.
with_namespaces(path) := [step |
	some node in path
	some step in array.concat(_namespace_above(node), [node])
]

_namespace_above(node) := [namespace] if {
	parts := keys.parse(node)
	parts.section == ""
	object_level(parts.type) in {"Gateway", "Route", "Backend"}
	parts.namespace != "-"
	namespace := keys.format("", "Namespace", "", parts.namespace)
	lookup.get(namespace)
} else := []
