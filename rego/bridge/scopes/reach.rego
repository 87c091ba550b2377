package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The effective targets of a policy, from at most `bound` of its accepted refs and through at most `bound` objects for
#   each step: `{scopes, whole}`. `whole` is false if there may be more. For callers that cannot wait for all of them.
sample_scopes(policy_key, bound) := {"scopes": scopes_found, "whole": whole} if {
	policy_kind := keys.parse(policy_key).type
	all_targets := attachment.targets(policy_key)
	targets := array.slice(sort(all_targets), 0, bound)
	parts := [_scopes_in_part(policy_kind, node, bound) | some node in targets]
	scopes_found := {scope |
		some index, part in parts
		some scope in part.scopes
		has_counted_path(policy_kind, sort(targets)[index], scope)
	}
	whole := ({part.whole | some part in parts} | {count(targets) == count(all_targets)}) == {true}
}

_scopes_in_part(policy_kind, node, bound) := {"scopes": scopes_at_or_below(policy_kind, node), "whole": true} if {
	kinds.is_direct(policy_kind)
} else := {"scopes": {node}, "whole": true} if {
	is_only_target(policy_kind, node)
	not kinds.acts_where_declared(policy_kind)
} else := {"scopes": found, "whole": {below.whole, count(backends) == count(all_backends)} == {true}} if {
	object_key := keys.parse(node).object
	below := hierarchy.some_below(object_key, bound)
	all_backends := unnamed_backends(policy_kind, object_key)
	backends := {key | some key in array.slice(sort(all_backends), 0, bound)}
	found := {scope |
		some key in (below.objects | backends)
		kinds.acts_on(policy_kind, keys.parse(key).type)
		some scope in _scopes_of_one(policy_kind, key)
		_counts_below(policy_kind, scope, node)
	}
}

# The effective targets in one object.
_scopes_of_one(policy_kind, key) := direct_scopes(policy_kind, key) if {
	kinds.acts_where_declared(policy_kind)
} else := hierarchy.nodes_at(key, kinds.get(policy_kind).effectiveTarget) | ({key} & unnamed_backends(policy_kind, key))

_counts_below(policy_kind, scope, node) if {
	kinds.acts_where_declared(policy_kind)
	is_declared_below(policy_kind, node, scope)
}

_counts_below(policy_kind, scope, node) if {
	not kinds.acts_where_declared(policy_kind)
	is_at_or_below(scope, node)
}
