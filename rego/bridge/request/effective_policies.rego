package bridge.request

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.scopes

# METADATA
# description: |
#   The effective policies of all kinds on the way of a request, as `effective` tells them, from the top down: at what the
#   path to the rule runs through, at the rule, and at the backends `behind` it and their ports. Only the path through the
#   entry point counts.
policies(entry, rule, behind) := [{"target": node, "policyKind": kind, "paths": paths} |
	some node in array.concat(_nodes_to(entry, rule), behind)
	some kind in sort(kinds.names)
	scopes.acts_at(kind, node)
	not _by_its_section(kind, node, entry, rule, behind)
	paths := effective.on_paths(kind, _paths(kind, entry, rule, node), object.get(input, "sourceNamespace", ""))
	count(paths) > 0
]

# The nodes above a rule on the way, and the rule, from the top.
_nodes_to(entry, rule) := [node |
	some [_, node] in sort({[index, node] |
		some path in _ways(entry, rule, false)
		some index, node in path
	})
]

_ways(entry, rule, held) := {path |
	some path in hierarchy.paths(rule, held)
	entry in path
}

# Where a Direct kind acts at sections, its policies for the whole object act there (semantics C2).
_by_its_section(kind, node, entry, rule, behind) if {
	kinds.direct(kind)
	some other in array.concat(_nodes_to(entry, rule), behind)
	other != node
	keys.parse(other).object == node
	scopes.acts_at(kind, other)
}

_paths(kind, _, _, node) := hierarchy.kind_paths(kind, node) if kinds.direct(kind)

_paths(kind, entry, rule, node) := {array.slice(path, 0, index + 1) |
	some path in _ways(entry, rule, kinds.names_namespaces(kind))
	some index, other in path
	other == node
} if {
	not kinds.direct(kind)
	node in _nodes_to(entry, rule)
}

_paths(kind, entry, rule, node) := hierarchy.paths_below(_ways(entry, rule, held), node, held) if {
	not kinds.direct(kind)
	not node in _nodes_to(entry, rule)
	held := kinds.names_namespaces(kind)
}
