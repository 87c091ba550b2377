package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.recursion

# METADATA
# description: |
#   The nodes directly above a node by links that count, without Namespaces (see `paths`).
parents(node) := {object_key} if {
	[object_key, _] := split(node, "#")
} else := listeners_above(node) | frontends_above(node) if {
	index.facts(node).endings
	not index.extended_exist
} else := parents_of_level(levels.of(node), node) if {
	not index.extended_exist
} else := parents_of_level(levels.of(node), node) | extension_parents(node) if {
	true
} else := extension_parents(node) if {
	index.extended_exist
} else := set()

# METADATA
# description: How many nodes a path may have. A path that would be longer starts with `path_bound_mark`.
path_bound := recursion.step_bound

# METADATA
# description: The first element of a path that was cut at the bound, so that nobody takes it for a whole one.
path_bound_mark := "…"

# METADATA
# description: |
#   All paths to a node, each from a root (a node with nothing above it that counts) to the node itself. A set, so two
#   ways with the same keys are one (semantics P1). A parent that does not exist or a link that does not count is left
#   out (P2). With `held`, the Namespace of a Gateway, ListenerSet, route, frontend or backend stands directly above it (P3).
#   A recursive function as `bridge.lib.recursion` has it.
paths(node, held) := {array.concat(above, [node]) | some above in _paths_to_object(object_key, held)} if {
	not index.extended_exist
	[object_key, _] := split(node, "#")
	not startswith(node, "core/Service/")
} else := _paths_16(node, held) if {
	not index.extended_exist
} else := _walked_held(node, held) if {
	not is_port(node)
} else := _extend(_walked_held(keys.parse(node).object, held), node, held)

# Of a Gateway, above which there is its class and nothing else, without a search.
_paths_to_object(object_key, held) := {array.concat([class | some class in index.facts(object_key).class; exists(class)], _step(object_key, held))} if {
	index.facts(object_key).class[0]
} else := _paths_15(object_key, held)

_walked_held(node, held) := {[at | some on in path; some at in _step(on, held)] | some path in extension_paths(node)}

_paths_16(node, held) := _extend({above | some parent in parents(node); some above in _paths_15(parent, held)}, node, held)

_paths_15(node, held) := _extend({above | some parent in parents(node); some above in _paths_14(parent, held)}, node, held)

_paths_14(node, held) := _extend({above | some parent in parents(node); some above in _paths_13(parent, held)}, node, held)

_paths_13(node, held) := _extend({above | some parent in parents(node); some above in _paths_12(parent, held)}, node, held)

_paths_12(node, held) := _extend({above | some parent in parents(node); some above in _paths_11(parent, held)}, node, held)

_paths_11(node, held) := _extend({above | some parent in parents(node); some above in _paths_10(parent, held)}, node, held)

_paths_10(node, held) := _extend({above | some parent in parents(node); some above in _paths_9(parent, held)}, node, held)

_paths_9(node, held) := _extend({above | some parent in parents(node); some above in _paths_8(parent, held)}, node, held)

_paths_8(node, held) := _extend({above | some parent in parents(node); some above in _paths_7(parent, held)}, node, held)

_paths_7(node, held) := _extend({above | some parent in parents(node); some above in _paths_6(parent, held)}, node, held)

_paths_6(node, held) := _extend({above | some parent in parents(node); some above in _paths_5(parent, held)}, node, held)

_paths_5(node, held) := _extend({above | some parent in parents(node); some above in _paths_4(parent, held)}, node, held)

_paths_4(node, held) := _extend({above | some parent in parents(node); some above in _paths_3(parent, held)}, node, held)

_paths_3(node, held) := _extend({above | some parent in parents(node); some above in _paths_2(parent, held)}, node, held)

_paths_2(node, held) := _extend({above | some parent in parents(node); some above in _paths_1(parent, held)}, node, held)

_paths_1(node, held) := _extend({above | some parent in parents(node); some above in _paths_0(parent, held)}, node, held)

_paths_0(node, _) := {[path_bound_mark, node]}

# METADATA
# description: |
#   The paths to a backend, or to a port of one, that go on from these paths to a rule; `held` as in `paths`.
paths_below(aboves, node, held) := _extend(aboves, node, held) if {
	not is_port(node)
} else := _extend(_extend(aboves, keys.parse(node).object, held), node, held)

_extend(aboves, node, held) := {array.concat(above, step) | some above in aboves} if {
	aboves != set()
	not is_port(node)
	step := _step(node, held)
} else := {_step(node, held)} if {
	not is_port(node)
} else := extended if {
	extended := {array.concat(above, [node]) | some above in aboves; reaches_port(above, node)}
	count(extended) > 0
} else := {array.concat(_step(keys.parse(node).object, held), [node])}

# METADATA
# description: A node with the Namespace above it, if that exists.
step(node, held) := _step(node, held)

_step(node, held) := [node] if {
	not held
} else := [node] if {
	contains(node, "#")
} else := [namespace, node] if {
	parts := keys.parse(node)
	parts.namespace != "-"
	not _same_namespace_above(node)
	namespace := keys.format("", "Namespace", "", parts.namespace)
	exists(namespace)
} else := [node]

# The Namespace of a ListenerSet stands above its Gateway already where that is in the same one.
_same_namespace_above(node) if {
	levels.of(node) == "ListenerSet"
	some gateway in parents(node)
	keys.parse(gateway).namespace == keys.parse(node).namespace
}
