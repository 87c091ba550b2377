package bridge.effective

import data.bridge.policy as policies

# METADATA
# description: |
#   The combined policies of a stack if every one applies (strategy Additive; semantics C4), `{spec, origins}`: the list
#   of their specs in the order of the kind, then of the stack, and each item's policy by the item's JSON pointer.
listed_specs(attached) := {
	"spec": [policies.facts(policy).spec | some policy in in_order],
	"origins": {sprintf("/%d", [place]): policy | some place, policy in in_order},
} if {
	in_order := [policy |
		some [_, _, policy] in sort([[rank, place, policy] |
			some policy, place in first_places(attached)
			rank := object.get(policies.facts(policy), "rank", [])
		])
	]
}
