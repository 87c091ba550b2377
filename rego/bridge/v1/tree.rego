package bridge.v1

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   `tree`: the hierarchy from `root` down, or all of it, `{roots, nodes}`. `nodes` has by key `{level, children,
#   policies, namespace?, parameters?}`, every node once; `depth` bounds the number of followed links (15 at most).
#   Children beyond it are named, but are not in `nodes`. With `refused` the result also has the links of the nodes that
#   do not count.
# entrypoint: true
tree := queries.input_problem if {
	queries.input_problem
} else := _tree_problem if {
	_tree_problem
} else := object.union(
	{"roots": sort(roots), "nodes": {key: topology.node(key, queries.policy_kinds) | some key in (nodes | namespaces)}},
	{"refused": links | input.refused; links := topology.rejected_links(nodes)},
) if {
	roots := _tree_roots
	nodes := hierarchy.nodes_within(roots, object.get(input, "depth", 15))
	namespaces := {namespace | some key in nodes; namespace := topology.node(key, queries.policy_kinds).namespace}
}

_tree_roots := {hierarchy.canonical_key(input.root)} if input.root

_tree_roots := topology.roots(queries.policy_kinds) if not input.root

_tree_problem := queries.error("InvalidInput", "root must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not is_string(object.get(input, "root", ""))
} else := queries.error("InvalidInput", "root must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	input.root
	not keys.parse(input.root)
} else := queries.error("TargetNotFound", sprintf("%s does not exist", [input.root])) if {
	input.root
	not hierarchy.canonical_key(input.root)
} else := queries.error("InvalidInput", "depth must be a number from 0 to 15") if {
	not _is_depth(object.get(input, "depth", 15))
}

_is_depth(depth) if {
	is_number(depth)
	depth >= 0
	depth <= 15
}
