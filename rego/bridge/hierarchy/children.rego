package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The nodes directly below a node by links that count: the sections of an object, and the nodes that have it among
#   their `parents`. The objects of a Namespace are in `members`.
children(node) := union({_sections_below(node), _backends_below(node), object.get(_linked_below(keys.whole(node)), node, set())})

_sections_below(node) := accepted_sections(node) if {
	levels.by_type[keys.type_of(node)].section
	not regex.match(`[#@]`, node)
	exists(node)
} else := set()

# The rules of a route declare the nodes below them.
_backends_below(node) := {backend |
	some backend, numbers in rule_backends(keys.parse(node).object)[node]
	exists(backend)
	leads_to(keys.type_of(node), backend, numbers)
} if {
	contains(node, "#")
	levels.of(node) == "Rule"
} else := set()

# The objects that name another object as their parent, by the node of that object: evaluated once for all of them.
_linked_below(object_key) := {} if {
	levels.of(object_key) == "Route"
	not index.has_extension_links
} else := {parent: below |
	parents_of := {child: _parents_within(object_key, child) |
		some declared in index.declared_children(object_key)
		some child in roles(declared)
		exists(trim_suffix(child, "@frontend"))
	}
	some parent in union({above | some above in parents_of})
	below := {child | some child, above in parents_of; parent in above}
}

_parents_within(object_key, child) := {parent | some parent in parents(child); keys.whole(parent) == object_key} if {
	levels.of(object_key) != "Route"
} else := extension_parents(child)

# METADATA
# description: |
#   The topmost nodes of a namespace, without sections and the nodes below: the nodes below its Namespace (semantics
#   P3).
members(namespace) := {key |
	some key in objects_of_namespace(namespace)
	has_place(trim_suffix(key, "@frontend"))
}

# METADATA
# description: Nodes and all nodes below them by links that count, at most `depth` links down.
nodes_within(nodes, depth) := reach("below", nodes, depth)

next_step("below", nodes) := {child | some node in nodes; some child in children(node)}
