package bridge.hierarchy

import data.bridge.lib.levels

# METADATA
# description: |
#   The paths to an object or frontend if extension modules declare links, without Namespaces. Unlike `paths`, each path
#   is walked from the target up, which detects cycles. It is cut at the first repeated key, and starts below that
#   (semantics P7).
extension_paths(node) := {path | some frontier in whole; some path in _ends(frontier)} | {array.concat([path_bound_mark], path) | some path in found[path_bound]} if {
	found := frontiers("above", {[node]}, path_bound)
	whole := array.slice(found, 0, path_bound)
}

next_step("above", paths_so_far) := {array.concat([parent], path) |
	some path in paths_so_far
	some parent in parents(path[0])
	not parent in path
}

# The paths that end here: nothing is above, or the node above is already on the path.
_ends(paths_so_far) := {path |
	some path in paths_so_far
	_nothing_new_above(path)
}

_nothing_new_above(path) if count(parents(path[0])) == 0

_nothing_new_above(path) if cut_node(path)

# METADATA
# description: |
#   The node at which a path was cut because of a cycle of extension modules: it is above the path's start, and on the
#   path. Undefined if the path was not cut.
cut_node(path) := repeated[0] if {
	start := [node | some node in array.slice(path, 0, 2); levels.of(node) != "Namespace"][0]
	repeated := sort([parent | some parent in parents(start); parent in path])
	count(repeated) > 0
}
