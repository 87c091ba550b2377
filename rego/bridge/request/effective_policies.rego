package bridge.request

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.scopes

# METADATA
# description: |
#   The effective policies of all kinds for a request, in the form of `effective`, from the top down: at the nodes of
#   the path to the rule, at the rule, and at the `reachable_backends` and their ports. Only the path through the entry
#   point counts.
policies(entry, rule, reachable_backends) := [{"target": node, "policyKind": kind, "paths": paths} |
	some node in array.concat(_nodes_to(entry, rule), reachable_backends)
	some kind in sort(kinds.in_use)
	scopes.acts_at(kind, node)
	not _by_its_section(kind, node, entry, rule, reachable_backends)
	paths := effective.policies_on(kind, _paths(kind, entry, rule, node), object.get(input, "sourceNamespace", ""))
	count(paths) > 0
]

# The nodes above a rule on the request's path, and the rule, from the top.
_nodes_to(entry, rule) := [node |
	some [_, node] in sort({[index, node] |
		some path in _ways(entry, rule, false)
		some index, node in path
	})
]

_ways(entry, rule, with_namespaces) := {path |
	some path in hierarchy.paths(rule, with_namespaces)
	entry in path
}

# If a Direct kind acts at sections, its policies for the whole object act there (semantics C2).
_by_its_section(kind, node, entry, rule, reachable_backends) if {
	kinds.is_direct(kind)
	some other in array.concat(_nodes_to(entry, rule), reachable_backends)
	other != node
	keys.parse(other).object == node
	scopes.acts_at(kind, other)
}

_paths(kind, _, _, node) := hierarchy.kind_paths(kind, node) if kinds.is_direct(kind)

_paths(kind, entry, rule, node) := {array.slice(path, 0, index + 1) |
	some path in _ways(entry, rule, kinds.names_namespaces(kind))
	some index, other in path
	other == node
} if {
	not kinds.is_direct(kind)
	node in _nodes_to(entry, rule)
}

_paths(kind, entry, rule, node) := hierarchy.paths_below(_ways(entry, rule, with_namespaces), node, with_namespaces) if {
	not kinds.is_direct(kind)
	not node in _nodes_to(entry, rule)
	with_namespaces := kinds.names_namespaces(kind)
}
