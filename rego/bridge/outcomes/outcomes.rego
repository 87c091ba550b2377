# METADATA
# title: Outcomes
# description: |
#   The outcome of each policy at its effective targets, from which statuses are counted (GEP-713, "Status reporting";
#   semantics O4).
package bridge.outcomes

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.policy as policies

# METADATA
# description: |
#   The outcomes at one effective target, one entry for each path, policy and ancestor: `{policy, targets, ancestor,
#   outcome, by, scope, marks}`. `targets` are the policy's declared targets on the path, except those that it selects by
#   fields of its kind (semantics T8), `by` names the policies that override it with the strategy, `scope` names the path
#   and its source unless that is any, `marks` are the places that report the policy's effect.
outcomes_at(policy_kind, node) := [object.union(fate, {
	"targets": _counted_targets(policy_kind, fate.policy, fate.targets),
	"ancestor": ancestor,
	"scope": scope,
	"marks": marks(above, marks_of_target, fate),
}) |
	some source in effective.sources(policy_kind, node)
	some [path, attached] in effective.distinct_stacks(policy_kind, node, source)
	scope := concat("", [scope_name(path), _cut_text(path), _source_text(source)])
	above := above_route(node, path)
	marks_of_target := places(node, above)
	some fate in _outcomes_of_stack(attached, path[0])
	some ancestor in ancestors(policy_kind, path, fate.targets)
]

# The targets by which a policy's status counts: none of those that it selects by fields of its kind, unless they are its
# ancestors. Otherwise the counts of a policy for a whole mesh, which each of its statuses needs, are as many as the
# cluster has workloads (semantics T8).
_counted_targets(policy_kind, policy, targets) := [] if {
	policies.selects_by_fields(policy)
	not has_ancestors(policy_kind)
} else := targets

# The text for a path that was cut (semantics P7).
_cut_text(path) := sprintf(" (cut: links of an extension lead back to %s)", [node]) if {
	index.has_extension_links
	node := hierarchy.cut_node(path)
} else := ""

_source_text("") := ""

_source_text(source) := sprintf(" from namespace %s", [source]) if source != ""

# The outcome of each policy of a stack, independent of its path. `root` is the first node of the path.
_outcomes_of_stack(attached, root) := [{
	"policy": policy,
	"targets": targets,
	"outcome": fate.outcome,
	"by": effective.deciders(attached, policy, fate.overriddenBy),
} |
	some policy, targets in _targets_by_policy(attached)
	fate := effective.outcome(attached, policy)
] if {
	effective.within_bounds(attached, root)
	not effective.merged_stack(attached).error
} else := [{"policy": policy, "targets": targets, "outcome": "Failed", "by": [_failure(attached, root)]} |
	some policy, targets in _targets_by_policy(attached)
]

# A policy may be attached at two places of a path (semantics P4).
_targets_by_policy(attached) := {entry.policy: [entry.target] | some entry in attached} if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := {policy: [entry.target | some entry in attached; entry.policy == policy] |
	some policy in {entry.policy | some entry in attached}
}

_failure(attached, root) := effective.merged_stack(attached).error.message if {
	effective.within_bounds(attached, root)
} else := effective.bound_message(attached, root)
