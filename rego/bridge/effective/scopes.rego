package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The effective targets of a policy kind that are a node or lie below it, by declared links: what is to be computed
#   anew when the node's object changes, and what a person means who names a Gateway or a route.
scopes(policy_kind, node) := direct_scopes(policy_kind, node) if {
	kinds.get(policy_kind).class == "Direct"
} else := {scope |
	kind := kinds.get(policy_kind)
	some object_key in hierarchy.objects_below(keys.parse(node).object)
	_counts_at_level(kind, keys.parse(object_key).type)
	some scope in hierarchy.nodes_at(object_key, kind.effectiveTarget)
	_within(scope, node)
}

# METADATA
# description: The effective targets of a Direct kind at a node, itself and, of an object, its sections (semantics C2).
direct_scopes(policy_kind, node) := {scope |
	some scope in ({node} | _sections_of(policy_kind, node))
	hierarchy.canonical(scope)
}

_sections_of(policy_kind, node) := hierarchy.sections(node) if {
	keys.parse(node).section == ""
	_sections_targetable(kinds.get(policy_kind), keys.parse(node).type)
} else := set()

_sections_targetable(kind, _) if not kind.targets

_sections_targetable(kind, type) if {
	some entry in kind.targets
	concat("/", [entry.group, entry.kind]) == type
	entry.sections
}

# A section of the node's own object is below the node only if it is the node.
_within(_, node) if keys.parse(node).section == ""

_within(scope, node) if scope == node

_within(scope, node) if {
	keys.parse(scope).object != keys.parse(node).object
	some path in hierarchy.paths(scope)
	node in path
}

# Which kinds count at the effective level (semantics P5).
_counts_at_level(kind, type) if split(type, "/")[1] in kind.effectiveKinds

_counts_at_level(kind, _) if not kind.effectiveKinds

# METADATA
# description: The effective targets that a policy may reach, from its accepted refs.
reached(policy_key) := {scope |
	some node in attachment.targets(policy_key)
	some scope in scopes(keys.parse(policy_key).type, node)
}

# METADATA
# description: A node is one that a policy kind may act at.
acts_at(kind, node) if {
	kind.class == "Inherited"
	hierarchy.level(node) == kind.effectiveTarget
	_counts_at_level(kind, keys.parse(node).type)
}

acts_at(kind, node) if {
	kind.class == "Direct"
	keys.parse(node).section == ""
}

acts_at(kind, node) if {
	kind.class == "Direct"
	keys.parse(node).section != ""
	_sections_targetable(kind, keys.parse(node).type)
}
