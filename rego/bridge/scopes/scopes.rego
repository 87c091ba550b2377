# METADATA
# title: Scopes
# description: |
#   The nodes at which a policy kind acts, its effective targets, and which of them are below a declared target
#   (GEP-713, "Computing the scopes of a declared target").
package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The effective targets of a policy kind at or below a node, by declared links: those to recompute when the node's
#   object changes, and those that users mean by a Gateway or a route.
scopes_at_or_below(policy_kind, node) := {node} if {
	not index.has_extension_links
	is_of_acting_type(policy_kind, node)
} else := direct_scopes(policy_kind, node) if {
	kinds.is_direct(policy_kind)
} else := _declared_scopes(policy_kind, node) if {
	kinds.acts_where_declared(policy_kind)
} else := {node} if {
	is_only_target(policy_kind, node)
} else := scopes_below(policy_kind, node) if {
	not contains(node, "#")
} else := {scope |
	some scope in scopes_below(policy_kind, keys.parse(node).object)
	_within(scope, node)
}

# METADATA
# description: The effective targets in an object and below it.
scopes_below(policy_kind, object_key) := {scope |
	some key in hierarchy.objects_below(object_key)
	kinds.acts_on(policy_kind, keys.parse(key).type)
	some scope in hierarchy.nodes_at(key, kinds.get(policy_kind).effectiveTarget)
} | unnamed_backends(policy_kind, object_key)

# The effective targets of an Inherited kind that acts at its declared targets (semantics C1, effectiveTarget Target):
# the node, which a policy may have named before, and all nodes below it that a policy names.
_declared_scopes(policy_kind, node) := {scope |
	some key in hierarchy.objects_below(keys.parse(node).object)
	kinds.acts_on(policy_kind, keys.parse(key).type)
	some scope in direct_scopes(policy_kind, key)
	is_declared_below(policy_kind, node, scope)
}

# METADATA
# description: A policy names an effective target at or below a node.
is_declared_below(_, node, node)

is_declared_below(policy_kind, node, scope) if {
	scope != node
	count(attachment.attached_policies(policy_kind, scope)) > 0
	is_at_or_below(scope, node)
}

# METADATA
# description: An effective target at or below an object is also at or below a node of the object.
is_at_or_below(_, node) if not contains(node, "#")

is_at_or_below(scope, node) if {
	contains(node, "#")
	_within(scope, node)
}

# METADATA
# description: |
#   The effective targets of a Direct kind at a node: the node and, for an object, its sections (semantics C2).
direct_scopes(policy_kind, node) := {scope |
	kinds.may_target(policy_kind, keys.parse(node).type)
	itself := attachment.place(policy_kind, node)
	not hierarchy.is_unaccepted(itself)
	_is_target(policy_kind, itself)
	some scope in ({itself} | _sections_of(policy_kind, node))
	has_protocol(policy_kind, scope)
}

# For a Direct kind whose refs name no sections, an object is one whole.
_is_target(_, node) if not contains(node, "#")

_is_target(policy_kind, _) if not kinds.is_direct(policy_kind)

_is_target(policy_kind, node) if kinds.may_target_sections(policy_kind, keys.parse(node).type)

# METADATA
# description: |
#   A node is not a port, or is a port with a protocol on which a policy kind acts (`protocols` of its target entry).
has_protocol(policy_kind, node) if {
	not hierarchy.is_port(node)
} else if {
	not kinds.target_protocols(policy_kind, "core/Service")
} else if {
	parts := keys.parse(node)
	some protocol in hierarchy.port_protocols(parts.object, parts.section)
	protocol in kinds.target_protocols(policy_kind, parts.type)
} else := false

_sections_of(policy_kind, node) := hierarchy.accepted_sections(node) if {
	not contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.parse(node).type)
} else := set()

# A section of the node's own object is below the node only if it is the node.
_within(scope, node) if scope == node

_within(scope, node) if {
	keys.parse(scope).object != keys.parse(node).object
	node in hierarchy.nodes_above(scope)
}
