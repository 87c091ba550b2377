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
scope_name(path) := concat(" > ", [text |
	some index, node in path
	not hierarchy.level(node) in {"GatewayClass", "Namespace"}
	not _own_section_follows(path, index)
	text := _name(node)
])

_own_section_follows(path, index) if startswith(path[index + 1], concat("", [path[index], "#"]))

_name(node) := sprintf("%s %s%s", [parts.kind, keys.short(node), suffix]) if {
	parts := keys.parse(node)
	suffix := {true: "", false: concat("", ["#", parts.section])}[parts.section == ""]
}
