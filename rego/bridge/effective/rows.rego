package bridge.effective

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   What became of each policy at one effective target, a row for each path, policy and ancestor:
#   `{policy, ancestor, outcome, by, scope, affects}`. `by` names those that override it with the strategy that decided,
#   `scope` names the path, and the source that it is for where that is not any. What statuses are counted from.
rows(policy_kind, node) := [row |
	some source in sources(policy_kind, node)
	some [path, attached] in distinct_stacks(policy_kind, node, source)
	scope := concat("", [scope_name(path), _from(source)])
	some told in _told(attached, path[0])
	some ancestor in ancestors(policy_kind, path, told.target)
	row := object.union(told.row, {"ancestor": ancestor, "scope": scope})
]

_from("") := ""

_from(source) := sprintf(" from namespace %s", [source]) if source != ""

# What a row says of each policy of a stack, whatever path it is on. `root` tells a path that was cut at its bound.
_told(attached, root) := [{"target": placed.target, "row": row} |
	some placed in _merged(attached).policies
	row := {
		"policy": placed.policy,
		"outcome": placed.outcome,
		"by": deciders(_kind_of(attached), attached, placed),
		"affects": placed.outcome in {"Programmed", "PartiallyProgrammed"},
	}
] if {
	_foldable(attached, root)
} else := [{"target": placed.target, "row": row} |
	some placed in attached
	row := {"policy": placed.policy, "outcome": "Failed", "by": [_bound_message(attached, root)], "affects": false}
]

# METADATA
# description: |
#   A policy's rows over all that it reaches, counted, `{ancestor, outcome, by, count, examples}`; three examples are
#   enough for a message.
tallies(policy_key) := _counted([row |
	some node in reached(policy_key)
	some row in rows(keys.parse(policy_key).type, node)
	row.policy == policy_key
])

_counted(own) := [{
	"ancestor": group[0],
	"outcome": group[1],
	"by": group[2],
	"count": count(members),
	"examples": array.slice(members, 0, 3),
} |
	some group in sort({[row.ancestor, row.outcome, row.by] | some row in own})
	members := sort([row.scope | some row in own; [row.ancestor, row.outcome, row.by] == group])
]

# METADATA
# description: The policies of one kind, by key.
policies(policy_kind) := {key |
	some namespace in lookup.namespaces_of(policy_kind)
	some name, _ in lookup.objects_in(policy_kind, namespace)
	key := concat("/", [policy_kind, namespace, name])
}
