package bridge.outcomes

import data.bridge.lib.keys
import data.bridge.scopes

# METADATA
# description: |
#   The outcomes of a policy at all its effective targets, counted, `{ancestor, targets, outcome, by, count, examples}`;
#   messages need three examples.
tallies(policy_key) := _counted([entry |
	some node in scopes.reachable_scopes(policy_key)
	some entry in outcomes_at(keys.parse(policy_key).type, node)
	entry.policy == policy_key
])

_counted(own) := [{
	"ancestor": group[0],
	"targets": group[1],
	"outcome": group[2],
	"by": group[3],
	"count": count(members),
	"examples": array.slice(members, 0, 3),
} |
	some group in sort({_group(entry) | some entry in own})
	members := sort([entry.scope | some entry in own; _group(entry) == group])
]

_group(entry) := [entry.ancestor, entry.targets, entry.outcome, entry.by]
