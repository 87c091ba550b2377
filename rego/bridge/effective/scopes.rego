package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The effective targets of a policy kind that are a node or lie below it, by declared links: what is to be computed
#   anew when the node's object changes, and what a person means who names a Gateway or a route.
scopes(policy_kind, node) := _direct_scopes(policy_kind, node) if {
	kinds.direct(policy_kind)
} else := {node} if {
	acts_at(policy_kind, node)
} else := {scope |
	some object_key in hierarchy.objects_below(keys.parse(node).object)
	kinds.acts_on(policy_kind, keys.parse(object_key).type)
	some scope in hierarchy.nodes_at(object_key, kinds.get(policy_kind).effectiveTarget)
	_within(scope, node)
}

# The effective targets of a Direct kind at a node, itself and, of an object, its sections (semantics C2).
_direct_scopes(policy_kind, node) := {scope |
	kinds.may_target(policy_kind, keys.parse(node).type)
	some scope in ({node} | _sections_of(policy_kind, node))
	hierarchy.canonical(scope)
}

_sections_of(policy_kind, node) := hierarchy.sections(node) if {
	not contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.parse(node).type)
} else := set()

# A section of the node's own object is below the node only if it is the node.
_within(_, node) if keys.parse(node).section == ""

_within(scope, node) if scope == node

_within(scope, node) if {
	keys.parse(scope).object != keys.parse(node).object
	some path in hierarchy.paths(scope, false)
	node in path
}

# METADATA
# description: The effective targets that a policy may reach, from its accepted refs.
reached(policy_key) := {scope |
	some node in attachment.targets(policy_key)
	some scope in scopes(keys.parse(policy_key).type, node)
}

# METADATA
# description: A node is one that a policy kind may act at.
acts_at(policy_kind, node) if {
	not kinds.direct(policy_kind)
	hierarchy.has_place(keys.parse(node).object)
	hierarchy.level(node) == kinds.get(policy_kind).effectiveTarget
	kinds.acts_on(policy_kind, keys.parse(node).type)
}

acts_at(policy_kind, node) if {
	kinds.direct(policy_kind)
	not contains(node, "#")
	kinds.may_target(policy_kind, keys.parse(node).type)
}

acts_at(policy_kind, node) if {
	kinds.direct(policy_kind)
	contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.parse(node).type)
}
