package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The nodes directly below a node by links that count: the sections of an object, and what has the node among its
#   `parents`. Without the objects of a Namespace (see `members`).
children(node) := union({_sections_below(node), _backends_below(node), object.get(_linked_below(keys.whole(node)), node, set())})

_sections_below(node) := accepted_sections(node) if {
	levels.by_type[keys.type_of(node)].section
	not regex.match(`[#@]`, node)
	exists(node)
} else := set()

# The rules of a route say themselves what is below them.
_backends_below(node) := {backend |
	some backend, numbers in rule_backends(keys.parse(node).object)[node]
	exists(backend)
	leads_to(keys.type_of(node), backend, numbers)
} if {
	contains(node, "#")
	levels.of(node) == "Rule"
} else := set()

# What names an object as standing above it, by the node of the object that it stands below: judged once for all of them.
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
#   The nodes of a namespace, those of sections and all below them left out: what its Namespace stands above (semantics P3).
members(namespace) := {key |
	some key in objects_of_namespace(namespace)
	has_place(trim_suffix(key, "@frontend"))
}

# METADATA
# description: Nodes and all nodes below them by links that count, at most `depth` links down.
nodes_within(nodes, depth) := reach("below", nodes, depth)

next_step("below", nodes) := {child | some node in nodes; some child in children(node)}
