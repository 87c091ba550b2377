package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The effective policy of one kind at one effective target, for each path that has a policy and counts for requests
#   from a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; `{path, error, policies}` if the
#   stack or the path exceeds its bound.
policies_of(policy_kind, node, source) := [_entry(path, attached) | some [path, attached] in stacks(policy_kind, node, source)]

# METADATA
# description: The result of `policies_of` for only these paths to an effective target.
policies_on(policy_kind, paths_to_node, source) := [_entry(path, attached) |
	some [path, attached] in stacks_on(policy_kind, hierarchy.counted_paths(policy_kind, paths_to_node), source)
]

_entry(path, attached) := {"path": path, "error": error, "policies": entries} if {
	error := error_of(attached, path[0])
	entries := [object.union(entry, {"strategy": policies.strategy_of(entry.policy)}) | some entry in attached]
} else := {
	"path": path,
	"spec": merged.spec,
	"origins": merged.origins,
	"policies": [object.union_n([entry, {"strategy": policies.strategy_of(entry.policy)}, outcome(attached, entry.policy)]) |
		some entry in distinct_entries(attached)
	],
} if {
	merged := merged_stack(attached)
}

# METADATA
# description: |
#   Why a stack cannot be merged, `{code, message}`: it or its path is above its bound, or its Custom strategy fails.
#   `root` is the first node of the path. Undefined if it can.
error_of(attached, root) := {"code": "BoundExceeded", "message": message} if {
	message := _excess(attached, root)
} else := merged_stack(attached).error

# METADATA
# description: The maximum number of policies of a stack. A longer stack is an error of its path, never a silent cut.
stack_bound := 512

_excess(attached, root) := sprintf("More than %d paths lead to this target, or longer ones than %d objects", [hierarchy.paths_bound, hierarchy.path_bound]) if {
	root == hierarchy.path_bound_mark
} else := sprintf("%d policies meet here; at most %d can be merged", [count(attached), stack_bound]) if {
	count(attached) > stack_bound
} else := sprintf("Policies with more than %d leaves meet here, which is the bound on what can be merged", [policies.leaf_bound]) if {
	count(attached) > policies.largest_policies
	not policies.leaves_within_bound([entry.policy | some entry in attached])
}

# METADATA
# description: |
#   The outcome of one policy of a stack at its path, `{outcome, overriddenBy}`: all its leaves survive: Programmed;
#   some: PartiallyProgrammed; none: Overridden (semantics O1 to O3). Every policy of an Additive kind is Programmed (C4).
outcome(attached, policy) := {"outcome": "Programmed", "overriddenBy": []} if {
	# Most policies keep all leaves.
	own := _leaves_of(attached, policy)
	object.subset(object.get(merged_stack(attached), "leaves", own), own)
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[policy in owners], "overriddenBy": sort(_overriding(attached, policy, owners, own - object.keys(leaves)))} if {
	own := object.keys(_leaves_of(attached, policy))
	leaves := object.filter(merged_stack(attached).leaves, own)
	owners := _owners(leaves)
}

# The leaves of a policy by the rules of the stack.
_leaves_of(attached, policy) := side_of(policy, rules_of(attached)).origins

# The policies of origins.
_owners(leaves) := {owner | some origin in leaves; some owner in merge.as_list(origin)}

# The policies that override a policy (semantics O3): those that can win, of the `owners` of the leaves at its pointers
# and, for each of its `missing` pointers, of the leaves above or below; and those that made a leaf together with it (F9).
# If a missing pointer has none, the policies that excluded this one as a whole, or else all contributors that can win,
# took that leaf away.
_overriding(attached, policy, owners, missing) := (direct | {winner | some near in nearby; some winner in near}) | rest if {
	direct := _winners(attached, policy, owners) | _joint_owners(attached, policy)
	nearby := [_winners(attached, policy, _owners_near(merged_stack(attached).leaves, pointer)) | some pointer in missing]
	rest := {winner |
		set() in array.concat(nearby, [direct | nearby == []])
		some winner in _excluding(attached, policy)
	}
}

_excluding(attached, policy) := winners if {
	winners := {winner |
		some element in precedence(kind_of(attached), joins(attached))
		some winner in _owners(side_of(element, []).origins)
		_wins_atomically(attached, winner, policy)
	}
	count(winners) > 0
} else := _winners(attached, policy, _owners(merged_stack(attached).leaves))

_winners(attached, policy, owners) := {winner | some winner in owners; _winning_strategies(attached, winner, policy)}

_owners_near(leaves, pointer) := _owners({origin |
	segments := split(pointer, "/")
	some end in numbers.range(1, count(segments) - 1)
	origin := leaves[concat("/", array.slice(segments, 0, end))]
} | {origin |
	strings.any_prefix_match(object.keys(leaves), concat("", [pointer, "/"]))
	some place, origin in leaves
	startswith(place, concat("", [pointer, "/"]))
})

_joint_owners(attached, policy) := {owner |
	kinds.get(kind_of(attached)).custom
	some origin in merged_stack(attached).leaves
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
}

# METADATA
# description: |
#   The side whose values remain if a strategy joins two sides and both have one. Under None only the more specific side
#   counts (semantics C2).
winner_of := {
	"None": "Challenger",
	"AtomicDefaults": "Challenger",
	"PatchDefaults": "Challenger",
	"AtomicOverrides": "Established",
	"PatchOverrides": "Established",
	"Custom": "Both",
}

# The strategies by which one policy of a stack can win over another (semantics O3), for the pairs of their places, first
# those at which it is established: the established one can win by an override, the challenger by a default, both by
# Custom. `Parents` if the other policy is at none of the kind's `parentLevels`. Undefined if it cannot win.
_winning_strategies(attached, winner, loser) := found if {
	found := [strategy |
		winner != loser
		places := _places(attached)
		some [side, established, challenger] in [["Established", winner, loser], ["Challenger", loser, winner]]
		some upper, across in places[established]
		some lower, _ in places[challenger]
		upper < lower
		strategy := _strategy_of_pair(established, across, upper, lower)
		winner_of[strategy] in {side, "Both"}
	]
	found != []
} else := ["Parents"] if {
	not _places(attached)[loser]
	_places(attached)[winner]
}

_strategy_of_pair(_, across, upper, lower) := across if upper[0] != lower[0]

_strategy_of_pair(established, _, upper, lower) := strategy_within_level(established) if upper[0] == lower[0]

# The places of each policy, `[side, place within]` from the top, with the strategy of the side for lower ones.
_places(attached) := object.union_n([{policy: {[number, within]: join.strategy}} |
	some number, join in array.reverse(joins(attached))
	some within, policy in join.policies
])

# One policy of a stack can exclude another one as a whole, even if it sets nothing (semantics O3).
_wins_atomically(attached, winner, loser) if {
	some strategy in _winning_strategies(attached, winner, loser)
	startswith(strategy, "Atomic")
}

# METADATA
# description: |
#   The policies that override a policy at its path, as texts for messages, with the reason: GEP-713's name of the
#   strategy that merged the two (semantics S1).
deciders(attached, policy, overridden_by) := [concat("", [keys.short(winner), _reason(_winning_strategies(attached, winner, policy)[0])]) |
	some winner in overridden_by
]

_reason("Parents") := ", which is closest or merges with that"

# Under None only a policy that names the section wins over another (semantics C2); this reason is more helpful than the
# strategy's name.
_reason("None") := ", which names the section"

_reason(strategy) := sprintf(" (%s)", [merge.strategies[strategy]]) if not strategy in {"Parents", "None"}

# METADATA
# description: |
#   The effective policies of a target in the form of `policies_of`, with the steps of each merge in order:
#   `{established, challenger, strategy, winner, result}`. The sides are lists of their policies, the established ones
#   first. `winner` is Established, Challenger or Both. `result` is the spec after the step, with the nulls that still
#   remove fields (GEP-713, "Abstract process for calculating effective policies"; semantics F3). A single policy has no
#   step.
explanations(policy_kind, node, source) := [_explanation(path, attached) | some [path, attached] in stacks(policy_kind, node, source)]

# METADATA
# description: |
#   The same for any source, followed by the differences for single sources, with the source as `sourceNamespace`
#   (semantics P6).
explanations_for_all(policy_kind, node) := [object.union(_explanation(path, attached), {"sourceNamespace": source | source != ""}) |
	some source in sources(policy_kind, node)
	some [path, attached] in distinct_stacks(policy_kind, node, source)
]

_explanation(path, attached) := object.union(_entry(path, attached), {"steps": [_step(attached, found, number) |
	not _excess(attached, path[0])
	not kinds.is_additive(kind_of(attached))
	some index, join in joins(attached)
	some [found, number] in array.concat(
		[[level, number] | level := joins_of_level(join.policies); some number, _ in level; number > 0],
		[[joins(attached), index] | index > 0],
	)
]})

# The step that adds a join to the previous ones.
_step(attached, found, number) := object.union(
	{
		"established": join.policies,
		"challenger": [policy | some earlier in array.reverse(array.slice(found, 0, number)); some policy in earlier.policies],
		"strategy": join.strategy,
		"winner": winner_of[join.strategy],
	},
	_result_of_step(precedence(kind_of(attached), array.slice(found, 0, number + 1)), rules_of(attached)),
) if {
	join := found[number]
}

_result_of_step(elements, _) := elements if elements.error

_result_of_step(elements, rules) := {"result": merge.plain_side(side, side.spec).spec} if {
	not elements.error
	side := merged_elements(elements, rules)
}
