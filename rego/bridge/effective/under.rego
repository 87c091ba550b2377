package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   An effective target of a policy kind is one that `scopes` gives for a node, asked from the bottom: its cost is that of what stands
#   above the target, not of what stands below the node.
under(policy_kind, node, scope) if {
	kinds.direct(policy_kind)
	scope in _direct_scopes(policy_kind, node)
}

under(policy_kind, node, scope) if {
	kinds.acts_where_declared(policy_kind)
	_named_above(node, scope)
	_is_declared(policy_kind, node, scope)
}

under(policy_kind, node, node) if {
	not kinds.acts_at_targets(policy_kind)
	acts_at(policy_kind, node)
}

under(policy_kind, node, scope) if {
	not kinds.acts_at_targets(policy_kind)
	not _stands_alone(policy_kind, node)
	_named_above(node, scope)
	_at_or_below(scope, node)
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
# description: The objects, frontends and Namespaces at and above an effective target by declared links, whether they count or not.
objects_above(scope) := hierarchy.objects_above(scope) if {
	keys.is_frontend(scope)
} else := hierarchy.objects_above(keys.parse(scope).object)
