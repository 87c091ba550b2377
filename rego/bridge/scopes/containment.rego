package bridge.scopes

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   An effective target of a policy kind is in the result of `scopes_at_or_below` for a node. The cost is that of the
#   nodes above the target, and not of those below the node.
is_within(policy_kind, node, scope) if {
	kinds.is_direct(policy_kind)
	scope in direct_scopes(policy_kind, node)
}

is_within(policy_kind, node, scope) if {
	kinds.acts_where_declared(policy_kind)
	_named_above(node, scope)
	is_declared_below(policy_kind, node, scope)
}

is_within(policy_kind, node, node) if {
	not kinds.acts_at_targets(policy_kind)
	acts_at(policy_kind, node)
}

is_within(policy_kind, node, scope) if {
	not kinds.acts_at_targets(policy_kind)
	not is_only_target(policy_kind, node)
	_named_above(node, scope)
	is_at_or_below(scope, node)
}

_named_above(node, scope) if {
	not contains(node, "@")
	keys.parse(node).object in objects_above(scope)
}

_named_above(node, scope) if {
	contains(node, "@")
	node in objects_above(scope)
}

# METADATA
# description: |
#   The objects, frontends and Namespaces at and above an effective target by declared links, whether they count or not.
objects_above(scope) := hierarchy.objects_above(scope) if {
	keys.is_frontend(scope)
} else := hierarchy.objects_above(keys.parse(scope).object)
