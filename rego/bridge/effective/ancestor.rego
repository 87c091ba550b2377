package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The ancestor of a path for which a policy's status is kept: the node at the kind's ancestorLevel or, where the path
#   has none (or the level is Target), the policy's own target (semantics S3).
ancestor(policy_kind, path, target) := "" if {
	kinds.get(policy_kind).statusShape != "Ancestors"
} else := [node | some node in path; hierarchy.level(node) == kinds.get(policy_kind).ancestorLevel][0] if {
	true
} else := target

# METADATA
# description: |
#   How messages name a path, its nodes from the top; a GatewayClass, a Namespace and an object that its own section
#   follows are left out, because they say nothing more.
scope_name(path) := concat(" > ", array.concat(_names(upper, _is_section_of(lower[0], upper)), _names(lower, false))) if {
	count(path) > 2
	upper := array.slice(path, 0, count(path) - 2)
	lower := array.slice(path, count(path) - 2, count(path))
} else := concat(" > ", _names(path, false))

# The names of the nodes of a path or of its upper part, which OPA makes once for all paths that share it. `followed`: a
# section of the last node comes next, so it goes without saying.
_names(path, followed) := [text |
	some index, node in path
	some text in _step_name(node, concat("", array.slice(path, index + 1, index + 2)))
	not _left_out(index, path, followed)
]

_left_out(index, path, followed) if {
	followed
	index == count(path) - 1
}

_is_section_of(node, path) if {
	startswith(node, concat("", [path[count(path) - 1], "#"]))
} else := false

_step_name(node, next) := [] if {
	hierarchy.level(node) in {"GatewayClass", "Namespace"}
} else := [] if {
	contains(next, "#")
	keys.parse(next).object == node
} else := [sprintf("%s %s", [parts.kind, short])] if {
	parts := keys.parse(node)
	parts.section == ""
	short := keys.short(node)
} else := [sprintf("%s %s#%s", [parts.kind, keys.short(node), parts.section])] if {
	parts := keys.parse(node)
}
