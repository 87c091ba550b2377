package bridge.effective

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   What became of each policy at one effective target, a row for each path, policy and ancestor:
#   `{policy, targets, ancestor, outcome, by, scope, marks}`. `targets` are its declared targets on the path, `by` names
#   those that override it with the strategy that decided, `scope` names the path, and the source that it is for where that
#   is not any, `marks` are the places that are to say that it affects them. What statuses are counted from.
rows(policy_kind, node) := [object.union(told, {"ancestor": ancestor, "scope": scope, "marks": marks(fanout, above, held, told)}) |
	fanout := kinds.get(policy_kind).fanout
	some source in sources(policy_kind, node)
	some [path, attached] in distinct_stacks(policy_kind, node, source)
	scope := concat("", [scope_name(path), _cut(path), _from(source)])
	above := above_route(node, path)
	held := held_at(fanout, node, above)
	some told in _told(attached, path[0])
	some ancestor in ancestors(policy_kind, path, told.targets)
]

# A path that was cut says so (semantics P7).
_cut(path) := sprintf(" (cut: links of an extension lead back to %s)", [node]) if {
	index.extended_exist
	node := hierarchy.cut(path)
} else := ""

_from("") := ""

_from(source) := sprintf(" from namespace %s", [source]) if source != ""

# What a row says of each policy of a stack, whatever path it is on. `root` tells a path that was cut at its bound.
_told(attached, root) := _told_merged(attached) if {
	within_bounds(attached, root)
	not merged(attached).error
} else := [told |
	some policy in {placed.policy | some placed in attached}
	told := {
		"policy": policy,
		"targets": _targets_on(attached, policy),
		"outcome": "Failed",
		"by": [_failure(attached, root)],
	}
]

_told_merged(attached) := [{
	"policy": policy,
	"targets": targets,
	"outcome": fate.outcome,
	"by": deciders(attached, policy, fate.overriddenBy),
} |
	some policy, targets in _targets_by_policy(attached)
	fate := outcome(attached, policy)
]

_targets_by_policy(attached) := {entry.policy: [entry.target] | some entry in attached} if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := {entry.policy: _targets_on(attached, entry.policy) | some entry in attached}

# A policy may be attached at two places of a path (semantics P4).
_targets_on(attached, policy) := [placed.target | some placed in attached; placed.policy == policy]

_failure(attached, root) := merged(attached).error.message if {
	within_bounds(attached, root)
} else := bound_message(attached, root)

# METADATA
# description: |
#   A policy's rows over all that it reaches, counted, `{ancestor, targets, outcome, by, count, examples}`; three examples
#   are enough for a message.
tallies(policy_key) := _counted([row |
	some node in reached(policy_key)
	some row in rows(keys.parse(policy_key).type, node)
	row.policy == policy_key
])

_counted(own) := [{
	"ancestor": group[0],
	"targets": group[1],
	"outcome": group[2],
	"by": group[3],
	"count": count(members),
	"examples": array.slice(members, 0, 3),
} |
	some group in sort({_group(row) | some row in own})
	members := sort([row.scope | some row in own; _group(row) == group])
]

_group(row) := [row.ancestor, row.targets, row.outcome, row.by]

# METADATA
# description: The policies of one kind, by key.
policies(policy_kind) := {key |
	some namespace in lookup.namespaces_of(policy_kind)
	some name, _ in lookup.objects_in(policy_kind, namespace)
	key := concat("/", [policy_kind, namespace, name])
}
