package bridge.effective

import data.bridge.attachment
import data.bridge.index
import data.bridge.kinds
import data.bridge.policy as policies

# METADATA
# description: |
#   The policies of a kind on a path, the established ones first: by level, higher first; then by age, older first; then
#   by namespace/name (GEP-713, "Established and challenger policy specs"; semantics F1). A policy that is attached at
#   two places of the path is listed twice (semantics P4). Each entry is `{policy, target}`.
stack(policy_kind, path) := counting if {
	counting := _counted_policies(policy_kind, path)
	not kinds.acts_where_declared(policy_kind)
} else := counting if {
	# A node without a policy of its own that counts is not an effective target (semantics C1).
	counting := _counted_policies(policy_kind, path)
	some entry in counting
	entry.target == path[count(path) - 1]
} else := []

# In two parts, because many paths share their upper part and OPA computes that once for them.
_counted_policies(policy_kind, path) := array.concat(
	_at_nodes(policy_kind, array.slice(path, 0, count(path) - 2)),
	_at_nodes(policy_kind, array.slice(path, count(path) - 2, count(path))),
) if {
	not attachment.has_class_limits(policy_kind)
} else := [entry |
	some entry in _at_nodes(policy_kind, path)
	_counts(policy_kind, path, entry)
]

_at_nodes(policy_kind, nodes) := [entry | some node in nodes; some entry in policies_at(policy_kind, node)]

# METADATA
# description: The policies at one node, the older first. The same for all paths through it.
policies_at(policy_kind, node) := [] if {
	index.is_untargeted(policy_kind, node)
} else := [{"policy": policy, "target": node} |
	some policy in _by_age(attachment.attached_policies(policy_kind, node))
]

_by_age(attached) := [policy | some policy in attached] if {
	count(attached) < 2
} else := [policy |
	some [_, _, policy] in sort([policies.fact(policy, "order") | some policy in attached])
]

# Some policies are limited to paths through classes at this node (semantics T1).
_counts(policy_kind, path, entry) if {
	limits := attachment.limits(policy_kind, entry.target)
	attachment.runs_through(policy_kind, path, limits[entry.policy])
} else if {
	not attachment.limits(policy_kind, entry.target)[entry.policy]
}
