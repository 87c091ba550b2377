package bridge.hierarchy

# METADATA
# description: |
#   A list of sets: these nodes, then the nodes that each further step in a direction reaches, at most `depth` steps
#   (16). A closure as in `bridge.lib.recursion`.
frontiers(direction, nodes, depth) := [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] if {
	a := nodes
	b := _next(direction, a, depth)
	c := _next(direction, b, depth - 1)
	d := _next(direction, c, depth - 2)
	e := _next(direction, d, depth - 3)
	f := _next(direction, e, depth - 4)
	g := _next(direction, f, depth - 5)
	h := _next(direction, g, depth - 6)
	i := _next(direction, h, depth - 7)
	j := _next(direction, i, depth - 8)
	k := _next(direction, j, depth - 9)
	l := _next(direction, k, depth - 10)
	m := _next(direction, l, depth - 11)
	n := _next(direction, m, depth - 12)
	o := _next(direction, n, depth - 13)
	p := _next(direction, o, depth - 14)
	q := _next(direction, p, depth - 15)
}

_next(direction, nodes, left) := next_step(direction, nodes) if {
	left > 0
	nodes != set()
} else := set()

# METADATA
# description: All nodes that steps in a direction reach from these nodes, including these nodes.
reach(direction, nodes, depth) := {node | some frontier in frontiers(direction, nodes, depth); some node in frontier}
