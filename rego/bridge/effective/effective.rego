# METADATA
# title: Effective policies
# description: |
#   The merge of the policies on a path, the outcome of each of them, and the explanation of both (GEP-713, "Abstract
#   process for calculating effective policies"). A stack is a list of `{policy, target}`, the established ones first.
package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.merge
import data.bridge.policy as policies

# The effective policy of one kind at one effective target, for each path that has a policy and counts for requests from
# a namespace ("": from any, see `stacks`): `{path, spec, origins, policies}`; `{path, error, policies}` if the stack or
# the path exceeds its bound; with `incomplete` if a policy uses what is not modeled.
policies_of(policy_kind, node, source) := [_entry(path, attached) | some [path, attached] in stacks(policy_kind, node, source)] if {
	not may_be_marked(policy_kind)
} else := [marked(_as_chosen(attached, _entry(path, attached))) | some [path, attached] in stacks(policy_kind, node, source)]

# The result of `policies_of` as clients see it: with `notAttached`, the reasons, on the paths below a route that nothing
# accepts; with the input `allPaths` also the paths without a policy, `{path, policies: []}`.
listed_policies_of(policy_kind, node, source) := listed(policies_of(policy_kind, node, source), hierarchy.kind_paths(policy_kind, node), source) if {
	input.allPaths
} else := [_listed(entry) | some entry in policies_of(policy_kind, node, source)]

# These entries as clients see them, and those without a policy among these paths to the same effective target.
listed(entries, all_paths, source) := [_listed(entry) |
	some entry in array.concat(entries, [{"path": path, "policies": []} |
		some path in sort(all_paths - {entry.path | some entry in entries})
		hierarchy.counts_for(path, source)
	])
]

_listed(entry) := entry if {
	startswith(entry.path[0], "gateway.networking.k8s.io/GatewayClass/") # with fewer expressions than `not_attached`
} else := object.union(entry, {"notAttached": why}) if {
	why := [message | some message in hierarchy.not_attached(entry.path); not message in unread_reasons(entry.path)]
	why != []
} else := entry

# The result of `policies_of` for only these paths to an effective target.
policies_on(policy_kind, paths_to_node, source) := [marked(_as_chosen(attached, _entry(path, attached))) |
	some [path, attached] in stacks_on(policy_kind, hierarchy.counted_paths(policy_kind, paths_to_node), source)
]

_entry(path, attached) := {
	"path": path,
	"spec": spec,
	"origins": merged.origins,
	"policies": [object.union_n([entry, {"strategy": policies.facts(policy).strategy}, outcome(attached, policy)]) |
		some entry in _distinct_entries(attached)
		policy := entry.policy
	],
} if {
	_is_within_bounds(attached, path[0])
	merged := merged_stack(attached)
	spec := merged.spec
} else := {"path": path, "error": error_of(attached, path[0]), "policies": entries} if {
	entries := [object.union(entry, {"strategy": policies.strategy_of(entry.policy)}) | some entry in attached]
}

# An entry with the strategies that delegating routes choose instead of their policies' own.
_as_chosen(attached, entry) := entry if {
	kinds.traits(_kind_of(attached)).joins != "routes"
} else := entry if {
	entry.error
} else := object.union(entry, {"policies": [object.union(one, {"strategy": object.get(chosen, one.target, one.strategy)}) |
	some one in entry.policies
]}) if {
	chosen := _chosen_strategies(attached)
}

# The strategies that delegating routes of a stack choose, by target.
_chosen_strategies(attached) := {entry.target: strategy |
	some entry in attached
	strategy := _delegating_strategy(attached, entry.target)
}

# Why a stack cannot be merged, `{code, message}`: it or its path is above its bound, or its Custom strategy fails.
# `root` is the first node of the path. Undefined if it can.
error_of(attached, root) := {"code": "BoundExceeded", "message": message} if {
	message := _excess(attached, root)
} else := merged_stack(attached).error

# A stack and its path are within their bounds: so few policies always are.
_is_within_bounds(attached, root) if {
	count(attached) <= policies.largest_policies
	root != hierarchy.path_bound_mark
} else if not _excess(attached, root)

# The maximum number of policies of a stack. A longer stack is an error of its path, never a silent cut.
stack_bound := 512

_excess(attached, root) := sprintf("This target has more than %d paths, or a path with more than %d objects", [hierarchy.paths_bound, hierarchy.path_bound]) if {
	root == hierarchy.path_bound_mark
} else := sprintf("%d policies meet here; at most %d can be merged", [count(attached), stack_bound]) if {
	count(attached) > stack_bound
} else := sprintf("The policies that meet here have more than %d values, the most that can be merged", [policies.leaf_bound]) if {
	count(attached) > policies.largest_policies
	not policies.leaves_within_bound([entry.policy | some entry in attached])
}

# The merged policies of a stack, `{spec, origins, leaves}`, or `{error}`. `leaves` are the origins with the items of
# lists that are merged by key by their keys; absent if policies are listed instead of merged. It is a function of the
# stack only, so OPA merges once for all targets that share the stack.
merged_stack(attached) := _merged_by(kinds.traits(_kind_of(attached)).merging, attached)

_merged_by("Listed", attached) := _listed_specs(attached)
_merged_by("Merged", attached) := _merged(_precedence(_kind_of(attached), _joins(attached)), _rules_of(attached))
_merged_by("LevelLists", attached) := _merged(_with_level_lists(attached, _precedence(_kind_of(attached), _joins(attached))), _rules_of(attached))

# Elements without the lists that come from one level (`levelLists`; semantics F8), except those of the most specific level
# that has such a list.
_with_level_lists(attached, elements) := elements if {
	elements.error
} else := [merge.keyed_side(json.remove(policies.facts(element).spec, others), element, rules) |
	rules := _rules_of(attached)
	some element in elements
	others := [rule.segments | some rule in rules; rule.level; not _is_of_list_level(attached, element, rule.segments)]
]

_is_of_list_level(attached, policy, segments) if {
	levels_with_list := [entry.target | some entry in attached; _has_list(entry.policy, segments)]
	some entry in attached
	entry.policy == policy
	entry.target == levels_with_list[count(levels_with_list) - 1]
}

_has_list(policy, segments) if object.get(policies.facts(policy).spec, segments, null) != null

_merged(elements, rules) := elements if {
	elements.error
} else := object.union(merge.plain_side(side, leaves.without_nulls(side.spec)), {"leaves": side.origins}) if {
	side := _merged_elements(elements, rules)
}

# Every policy applies (strategy Additive; semantics C4): the list of their specs in the order of the kind, then of the
# stack, and each item's policy by the item's JSON pointer.
_listed_specs(attached) := {
	"spec": [policies.spec_at(policy, target) | some [policy, target] in in_order],
	"origins": {sprintf("/%d", [place]): policy | some place, [policy, _] in in_order},
} if {
	in_order := [[policy, target] |
		some [_, _, policy, target] in sort([[object.get(policies.facts(entry.policy), "rank", []), place, entry.policy, entry.target] |
			some place, entry in _distinct_entries(attached)
		])
	]
}

_kind_of(attached) := keys.type_of(attached[0].policy)

# The entries of a stack; of a policy that is attached at two places of the path, the first (semantics P4).
_distinct_entries(attached) := attached if {
	count({entry.policy | some entry in attached}) == count(attached)
} else := [entry | some index, entry in attached; first[entry.policy] == index] if {
	first := object.union_n(array.reverse([{entry.policy: index} | some index, entry in attached]))
}

# The rules by which a stack merges (semantics F7, F8): the kind's, or with `parentLevels` those of the strategy that
# the most specific policy selects.
_rules_of(attached) := policies.facts(attached[count(attached) - 1].policy).rules

# The sides of a stack that are joined, the established ones first; each is a list of policies, the older first: one
# policy, or those of a level if the oldest of a level wins (semantics F5) or if the specs of one target are united
# (C2). With `parentLevels`, these are the most specific policy and the closest one above it at one of these levels
# (F4).
sides(attached) := [[entry.policy] | some entry in attached] if {
	kinds.traits(_kind_of(attached)).joins == "policies"
} else := [side.policies | some side in _levels_of(attached)] if {
	kinds.traits(_kind_of(attached)).joins == "levels"
} else := [side.policies | some side in _sides_of_routes(attached)] if {
	kinds.traits(_kind_of(attached)).joins == "routes"
} else := array.concat(array.slice(parents, count(parents) - 1, count(parents)), [[attached[last].policy]]) if {
	last := count(attached) - 1
	parents := [[entry.policy] |
		some entry in array.slice(attached, 0, last)
		levels.of(entry.target) in kinds.get(_kind_of(attached)).parentLevels
	]
}

# The sides of a stack of delegating routes, with their targets. The policies of a delegating route that prevail over those
# of the routes below are one side, in which those of the rule come first: the strategy is about the routes, and not about
# the route itself (semantics F10).
_sides_of_routes(attached) := [object.union(side, {"policies": array.concat(within, side.policies)}) |
	found := _levels_of(attached)
	some number, side in found
	not _continues_route(attached, found, number)
	within := [policy | _continues_route(attached, found, number + 1); some policy in found[number + 1].policies]
]

_levels_of(attached) := [{"policies": [entry.policy | some entry in array.slice(attached, start, end)], "target": attached[start].target} |
	starts := [start | some start, entry in attached; _begins_a_level(attached, start, entry)]
	some number, start in starts
	end := array.concat(starts, [count(attached)])[number + 1]
]

# A level is of the same delegating route as the one above it.
_continues_route(attached, found, number) if {
	keys.whole(found[number - 1].target) == keys.whole(found[number].target)
	_delegating_strategy(attached, found[number].target)
}

# The strategy that a route chooses for merging its policies with those of the routes to which it delegates (semantics F10).
# Undefined if it chooses none, and for the most specific route.
_delegating_strategy(attached, target) := strategy if {
	chosen := kinds.get(_kind_of(attached)).delegation
	route_key := keys.whole(target)
	levels.of(route_key) == "Route"
	keys.whole(attached[count(attached) - 1].target) != route_key
	strategy := chosen.strategies[object.get(lookup.get(route_key), chosen.segments, "")]
}

_begins_a_level(attached, index, entry) if attached[index - 1].target != entry.target

# Wider policies are above narrower ones at one target (semantics T8).
_begins_a_level(attached, index, entry) if {
	policies.fact(attached[index - 1].policy, "breadth") != policies.fact(entry.policy, "breadth")
}

# The first policy of a level; a Namespace can be at two adjacent levels of a path (semantics P4).
_begins_a_level(attached, _, entry) if {
	entry.policy == [other.policy | some other in attached; other.target == entry.target][0]
}

# The joins of a stack, from the most specific side upward: `{policies, elements, strategy}`. `elements` are the
# policies of the side in their own order of precedence (semantics F1, F2).
_joins(attached) := _joins_by(kinds.traits(_kind_of(attached)).joining, attached)

# Each wrapper of a policy is a part of its own, in its direction (semantics F6).
_joins_by("parts", attached) := [{"policies": side, "elements": [part.element], "strategy": part.strategy} |
	some side in array.reverse(sides(attached))
	some part in _parts(side[0], _rules_of(attached))
]

_joins_by("routes", attached) := [{"policies": side.policies, "elements": _elements(side.policies), "strategy": strategy} |
	some side in array.reverse(_sides_of_routes(attached))
	strategy := object.get(_chosen_strategies(attached), side.target, policies.strategy_of(side.policies[0]))
]

_joins_by(joined, attached) := [{"policies": side, "elements": _elements(side), "strategy": strategy} |
	some side in array.reverse(sides(attached))
	strategy := policies.strategy_of(_deciding(attached, side, joined))
] if {
	not joined in {"parts", "routes"}
}

# The parts of a policy, `{element, strategy}`, the lowest first.
_parts(policy, rules) := [{"element": merge.keyed_side(part.spec, policy, rules), "strategy": part.strategy} | some part in parts] if {
	parts := policies.facts(policy).parts
} else := [{"element": policy, "strategy": policies.facts(policy).strategy}]

# The established policy of a pair; with `parentLevels` the challenger (semantics F4).
_deciding(attached, _, "parents") := attached[count(attached) - 1].policy
_deciding(_, side, "levels") := side[0]
_deciding(_, [policy], "policies") := policy

# The order within one side: each older policy above the younger ones or instead of them (semantics F5).
_elements([policy]) := [policy]
_elements(side) := _precedence(keys.type_of(side[0]), _joins_of_level(side)) if count(side) > 1

# The joins within one side, the youngest policy first.
_joins_of_level(side) := [{"policies": [policy], "elements": [policy], "strategy": _strategy_within_level(policy)} |
	some policy in array.reverse(side)
]

# The strategy that merges a policy with a younger one of its level if the oldest of a level wins: the granularity of
# its own strategy, always in its favor (semantics F5). For a Direct kind, both disjoint specs stay (semantics C2);
# otherwise the whole older one stays, over one that conflicts with it only for requests of its namespace (P6).
_strategy_within_level(policy) := replace(policies.strategy_of(policy), "Defaults", "Overrides") if {
	not kinds.is_direct(keys.type_of(policy))
} else := "PatchOverrides" if {
	kinds.of_policy(policy).sameLevel == "ConflictOnOverlap"
} else := "AtomicOverrides"

# The elements of joins in their order of precedence, the lowest first. An element is a policy or, where a Custom
# strategy merged two sides, the merged side (semantics F9). `{error}` if that fails.
_precedence(policy_kind, found) := _order(found) if {
	not kinds.get(policy_kind).custom
} else := _joined_512(policy_kind, found[0].elements, array.slice(found, 1, count(found)))

# In closed form (semantics F2): the last join with AtomicOverrides, or the first one, together with the later ones with
# PatchDefaults, the last one lowest, and those with PatchOverrides, the last one highest. Others are left out.
_order([join]) := join.elements

_order(found) := array.flatten(array.flatten([below, [found[base].elements], above])) if {
	end := count(found)
	end > 1
	base := max(array.concat([0], [index | some index, join in found; join.strategy == "AtomicOverrides"]))
	later := array.slice(found, base + 1, end)
	below := array.reverse([join.elements | some join in later; join.strategy == "PatchDefaults"])
	above := [join.elements | some join in later; join.strategy == "PatchOverrides"]
}

# Elements, the lowest precedence first, merged by the kind's rules into one side.
_merged_elements(elements, rules) := merge.merge_sides([_side_of(element, rules) | some element in elements])

# An element as a side for merging by rules.
_side_of(element, rules) := element if {
	is_object(element)
} else := {"spec": known.spec, "origins": known.origins} if {
	known := policies.facts(element)
	[known.rules, rules] == [[], []]
} else := merge.keyed_side(policies.facts(element).spec, element, rules)

_joined(policy_kind, elements, join) := elements if {
	elements.error
} else := join.elements if {
	join.elements.error
} else := _order([{"elements": elements, "strategy": "AtomicOverrides"}, join]) if {
	join.strategy != "Custom"
} else := _custom_elements(merge.custom_merge(
	kinds.get(policy_kind).custom,
	policy_kind,
	_merged_elements(join.elements, []),
	_merged_elements(elements, []),
))

_custom_elements(merged) := merged if {
	merged.error
} else := [merged]

# Rego has no loop that carries a value, so the steps are written out, by halves. OPA computes each half without items once.
_joined_512(kind, start, joins) := _joined_256(kind, _joined_256(kind, start, array.slice(joins, 0, 256)), array.slice(joins, 256, 512))
_joined_256(kind, start, joins) := _joined_128(kind, _joined_128(kind, start, array.slice(joins, 0, 128)), array.slice(joins, 128, 256))
_joined_128(kind, start, joins) := _joined_64(kind, _joined_64(kind, start, array.slice(joins, 0, 64)), array.slice(joins, 64, 128))
_joined_64(kind, start, joins) := _joined_32(kind, _joined_32(kind, start, array.slice(joins, 0, 32)), array.slice(joins, 32, 64))
_joined_32(kind, start, joins) := _joined_16(kind, _joined_16(kind, start, array.slice(joins, 0, 16)), array.slice(joins, 16, 32))
_joined_16(kind, start, joins) := _joined_8(kind, _joined_8(kind, start, array.slice(joins, 0, 8)), array.slice(joins, 8, 16))
_joined_8(kind, start, joins) := _joined_4(kind, _joined_4(kind, start, array.slice(joins, 0, 4)), array.slice(joins, 4, 8))
_joined_4(kind, start, joins) := _joined_2(kind, _joined_2(kind, start, array.slice(joins, 0, 2)), array.slice(joins, 2, 4))
_joined_2(kind, start, joins) := _joined_1(kind, _joined_1(kind, start, array.slice(joins, 0, 1)), array.slice(joins, 1, 2))
_joined_1(_, start, []) := start
_joined_1(kind, start, [join]) := _joined(kind, start, join)

# The outcome of one policy of a stack at its path, `{outcome, overriddenBy}`: all its leaves survive: Programmed; some:
# PartiallyProgrammed; none: Overridden (semantics O1 to O3). Every policy of an Additive kind is Programmed (C4).
outcome(attached, policy) := _outcome(attached, policy, own, object.filter(leaves, object.keys(own))) if {
	own := _side_of(policy, _rules_of(attached)).origins
	leaves := object.get(merged_stack(attached), "leaves", own)
}

_outcome(attached, policy, own, left) := {"outcome": "Programmed", "overriddenBy": []} if {
	own == left
} else := {
	"outcome": _outcome_of_rest(policy, owners),
	"overriddenBy": sort(_overriding(attached, policy, owners, object.keys(own) - object.keys(left))),
} if {
	owners := _owners(left)
}

_outcome_of_rest(policy, owners) := "PartiallyProgrammed" if {
	policy in owners
} else := "Overridden"

_owners(leaves) := {owner | some origin in leaves; some owner in merge.as_list(origin)}

# The policies that override a policy (semantics O3): those that can win, of the `owners` of the leaves at its pointers
# and, for each of its `missing` pointers, of the leaves above or below; and those that made a leaf together with it (F9).
# If a missing pointer has none, the policies that excluded this one as a whole, or else all contributors that can win,
# took that leaf away.
_overriding(attached, policy, owners, missing) := direct if {
	missing == set()
	direct := _direct_winners(attached, policy, owners)
	direct != set()
} else := (_direct_winners(attached, policy, owners) | union(sets)) | rest if {
	sets := {set() | missing == set()} | {_winners(attached, policy, near) |
		some pointer in missing
		near := _owners_near(merged_stack(attached).leaves, pointer)
	}
	rest := {winner | set() in sets; some winner in _excluding(attached, policy)}
}

_excluding(attached, policy) := winners if {
	winners := {winner |
		some element in _precedence(_kind_of(attached), _joins(attached))
		some winner in _owners(_side_of(element, []).origins)
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

_direct_winners(attached, policy, owners) := _winners(attached, policy, owners) if {
	not kinds.get(_kind_of(attached)).custom
} else := _winners(attached, policy, owners) | {owner |
	some origin in merged_stack(attached).leaves
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
}

# The side whose values remain if a strategy joins two sides and both have one. Under None only the more specific side
# counts (semantics C2).
_winner_of := {
	"None": "Challenger",
	"AtomicDefaults": "Challenger",
	"PatchDefaults": "Challenger",
	"AtomicOverrides": "Established",
	"PatchOverrides": "Established",
	"Custom": "Both",
}

# The strategies by which one policy of a stack can win over another (semantics O3), for the pairs of their places, first
# those at which it is established: the established one can win by an override, the challenger by a default, both by
# Custom. `MostSpecific` or `Parent` if merging by `parentLevels` skips the other policy. Undefined if it cannot win.
_winning_strategies(attached, winner, loser) := found if {
	found := [strategy |
		winner != loser
		places := _places(attached)
		some [side, established, challenger] in [["Established", winner, loser], ["Challenger", loser, winner]]
		some upper, across in places[established]
		some lower, _ in places[challenger]
		upper < lower
		strategy := _strategy_of_pair(established, across, upper, lower)
		_winner_of[strategy] in {side, "Both"}
	]
	found != []
} else := ["MostSpecific"] if {
	not _places(attached)[loser]
	_places(attached)[winner]
	winner == attached[count(attached) - 1].policy
} else := ["Parent"] if {
	not _places(attached)[loser]
	_places(attached)[winner]
}

_strategy_of_pair(established, across, upper, lower) := _strategy_within_level(established) if {
	upper[0] == lower[0]
} else := across

# The places of each policy, `[side, place within]` from the top, with the strategy of the side for lower ones.
_places(attached) := object.union_n([{policy: {[number, within]: join.strategy}} |
	some number, join in array.reverse(_joins(attached))
	some within, policy in join.policies
])

# One policy of a stack can exclude another one as a whole, even if it sets nothing (semantics O3).
_wins_atomically(attached, winner, loser) if {
	some strategy in _winning_strategies(attached, winner, loser)
	startswith(strategy, "Atomic")
}

# The policies that override a policy at its path, as texts for messages, with the reason: GEP-713's name of the
# strategy that merged the two (semantics S1).
deciders(attached, policy, overridden_by) := [concat("", [keys.short(winner), _reason(_winning_strategies(attached, winner, policy)[0])]) |
	some winner in overridden_by
]

# One of these texts is about defaults that a more specific policy replaces.
is_about_defaults(text) if {
	some strategy in ["AtomicDefaults", "PatchDefaults"]
	endswith(text, _reason(strategy))
}

_reason("MostSpecific") := " (the most specific policy, which skips this one)"
_reason("Parent") := " (the most specific policy merges with it, and skips this one)"

# Under None only a policy that names the section wins over another (semantics C2); this reason is more helpful than the
# strategy's name.
_reason("None") := ", which names the section"
_reason(strategy) := sprintf(" (%s)", [merge.strategies[strategy]]) if merge.strategies[strategy] != "None"

# The effective policies of a target in the form of `policies_of`, with `fields` and the steps of each merge in order: `{established,
# challenger, strategy, winner, result}`. The sides are lists of their policies, the established ones first. `winner` is
# Established, Challenger or Both. `result` is the spec after the step, with the nulls that still remove fields
# (GEP-713, "Abstract process for calculating effective policies"; semantics F3). A single policy has no step. For any
# source (""), the differences for single sources follow, with the source as `sourceNamespace` (semantics P6).
explanations(policy_kind, node, source) := [_explanation(path, attached) | some [path, attached] in stacks(policy_kind, node, source)] if {
	source != ""
} else := [object.union(_explanation(path, attached), {"sourceNamespace": namespace | namespace != ""}) |
	some [namespace, path, attached] in stacks_by_source(policy_kind, node)
]

_explanation(path, attached) := object.union(with_fields(marked(_entry(path, attached))), {"steps": [_step(attached, found, number) |
	_is_within_bounds(attached, path[0])
	not kinds.is_additive(_kind_of(attached))
	some index, join in _joins(attached)
	some [found, number] in array.concat(
		[[level, number] | level := _joins_of_level(join.policies); some number, _ in level; number > 0],
		[[_joins(attached), index] | index > 0],
	)
]})

_step(attached, found, number) := object.union(
	{
		"established": join.policies,
		"challenger": _distinct([policy | some earlier in array.reverse(array.slice(found, 0, number)); some policy in earlier.policies]),
		"strategy": join.strategy,
		"winner": _winner_of[join.strategy],
	},
	_result_of_step(_elements_of_step(kinds.traits(_kind_of(attached)).merging, attached, array.slice(found, 0, number + 1)), _rules_of(attached)),
) if join := found[number]

_elements_of_step("Merged", attached, found) := _precedence(_kind_of(attached), found)
_elements_of_step("LevelLists", attached, found) := _with_level_lists(attached, _precedence(_kind_of(attached), found))

_distinct(names) := [name | some index, name in names; not name in array.slice(names, 0, index)]

_result_of_step(elements, rules) := elements if {
	elements.error
} else := {"result": merge.plain_side(side, side.spec).spec} if {
	side := _merged_elements(elements, rules)
}
