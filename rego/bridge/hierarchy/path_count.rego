package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# A route with many parents, listeners and rules has thousands of paths to one Service, and a tenant may create several
# such routes. While OPA evaluates a query, it commits no write, so other clients wait for the result (semantics P9).

# METADATA
# description: The maximum number of paths to one node, and to the targets of one query together.
paths_bound := 4096

# METADATA
# description: An object or frontend has more paths than the bound. Policies above it are not computed there.
is_crowded(node) if {
	path_count(node) > paths_bound
} else := false

# METADATA
# description: |
#   The number of paths to an object or frontend by Gateway API's own links: to a backend through each rule that names
#   it, from each listener and frontend above the route. The cost is that of the routes, not of the paths.
path_count(node) := count(parents(node)) if {
	index.facts(node).endings
} else := sum([number |
	some route_key in index.declared_parents(node)
	rules := count([backends | some backends in rule_backends(route_key); backends[node]])
	number := rules * max([1, count(parents(route_key))])
]) if {
	levels.of(node) == "Backend"
} else := count(parents(node))

# METADATA
# description: The nodes on all paths to a node, without Namespaces. The cost is that of the nodes, not of the paths.
nodes_above(node) := {above | some path in paths(node, false); some above in path} if {
	is_port(node)
} else := {node} | reach("nodes above", {keys.whole(node)}, path_bound)

next_step("nodes above", nodes) := {parent | some node in nodes; some parent in parents(node)}
