package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: The effective targets of a policy, from its accepted refs.
reachable_scopes(policy_key) := {scope |
	policy_kind := keys.parse(policy_key).type
	some node in attachment.targets(policy_key)
	some scope in scopes_at_or_below(policy_kind, node)
	has_counted_path(policy_kind, node, scope)
	not _is_of_other_class(policy_key, node, scope)
}

# A className excludes a policy from paths through other GatewayClasses (semantics T1).
_is_of_other_class(policy_key, node, scope) if {
	policy_kind := keys.parse(policy_key).type
	attachment.has_class_limits(policy_kind)
	classes := attachment.limits(policy_kind, node)[policy_key]
	every path in {path | some path in hierarchy.kind_paths(policy_kind, scope); node in path} {
		not attachment.runs_through(policy_kind, path, classes)
	}
}

# METADATA
# description: |
#   A path through a node to an effective target counts for a policy kind. A kind with `controllers` has no effective
#   targets below Gateways of others (semantics P8).
has_counted_path(policy_kind, _, _) if not kinds.get(policy_kind).controllers

has_counted_path(policy_kind, node, scope) if {
	kinds.get(policy_kind).controllers
	some path in hierarchy.kind_paths(policy_kind, scope)
	node in path
}

# METADATA
# description: |
#   The effective targets below the objects that a policy is attached to, or to a section of which. They include all
#   effective targets of the policy, and are cheaper if many policies share an object, because no path is walked.
candidate_scopes(policy_key) := reachable_scopes(policy_key) if {
	kinds.acts_at_targets(keys.parse(policy_key).type)
} else := {scope |
	some object_key in {keys.parse(node).object | some node in attachment.targets(policy_key)}
	some scope in scopes_below(keys.parse(policy_key).type, object_key)
}
