package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The nodes directly below a node by links that count: the sections of an object, and what has the node among its
#   `parents`. Without the objects of a Namespace (see `members`).
children(node) := _sections_below(node) | {child |
	some child in _declared_below(node)
	node in parents(child)
}

_sections_below(node) := sections(node) if {
	levels[keys.parse(node).type].section
	not regex.match(`[#@]`, node)
	exists(node)
} else := set()

# What names the node's object as standing above it, or the node itself where an extension module says so.
_declared_below(node) := {below |
	some declared in {node, _whole_key(node)}
	some child in lookup.declared_children(declared)
	some below in _both_roles(child)
	exists(trim_suffix(below, "@frontend"))
}

# METADATA
# description: |
#   The nodes of a namespace, those of sections and all below them left out: what its Namespace stands above (semantics P3).
members(namespace) := {key |
	some key in _held_by(namespace)
	has_place(trim_suffix(key, "@frontend"))
}

# METADATA
# description: A node and all nodes below it, at most `depth` links down. No recursion in Rego, so the steps are written out.
within(nodes, depth) := union({
	nodes, one, two, three, four, five, six, seven, eight,
	nine, ten, eleven, twelve, thirteen, fourteen, fifteen,
}) if {
	one := _down(nodes, depth - 0)
	two := _down(one, depth - 1)
	three := _down(two, depth - 2)
	four := _down(three, depth - 3)
	five := _down(four, depth - 4)
	six := _down(five, depth - 5)
	seven := _down(six, depth - 6)
	eight := _down(seven, depth - 7)
	nine := _down(eight, depth - 8)
	ten := _down(nine, depth - 9)
	eleven := _down(ten, depth - 10)
	twelve := _down(eleven, depth - 11)
	thirteen := _down(twelve, depth - 12)
	fourteen := _down(thirteen, depth - 13)
	fifteen := _down(fourteen, depth - 14)
}

_down(nodes, depth) := {child | some node in nodes; some child in children(node)} if {
	depth > 0
} else := set()
