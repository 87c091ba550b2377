package bridge.effective

import data.bridge.kinds
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   The outcome of one policy of a stack at its path, `{outcome, overriddenBy}`: all its leaves survive: Programmed;
#   some: PartiallyProgrammed; none: Overridden (semantics O1 to O3).
outcome(attached, policy) := {"outcome": "Programmed", "overriddenBy": []} if {
	# Most policies keep all leaves.
	object.subset(merged_stack(attached).leaves, _leaves_of(attached, policy))
} else := {"outcome": "Programmed", "overriddenBy": []} if {
	kinds.is_additive(kind_of(attached))
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[policy in owners], "overriddenBy": sort(_overriding(attached, policy, owners, own - object.keys(leaves)))} if {
	own := object.keys(_leaves_of(attached, policy))
	leaves := object.filter(merged_stack(attached).leaves, own)
	owners := {owner | some origin in leaves; some owner in merge.as_list(origin)}
}

# The leaves of a policy by the rules of the stack.
_leaves_of(attached, policy) := policies.facts(policy).origins if {
	kinds.traits(kind_of(attached)).joins != "parents"
} else := merge.keyed_side(policies.facts(policy).spec, policy, rules_of(attached)).origins

# The policies that override a policy (semantics O3): those that can win, of the `owners` of the leaves at its pointers
# and, for each of its `missing` pointers, of the leaves above or below; and those that made a leaf together with it (F9).
# If a missing pointer has none, the policies that excluded this one as a whole, or else all contributors that can win,
# took that leaf away.
_overriding(attached, policy, owners, missing) := (direct | {winner | some near in nearby; some winner in near}) | rest if {
	direct := _winners(attached, policy, owners) | _joint_owners(attached, policy)
	nearby := [_winners(attached, policy, _owners_near(merged_stack(attached).leaves, pointer)) | some pointer in missing]
	rest := _excluding(attached, policy, set() in nearby, count(direct) + count(nearby))
}

_excluding(_, _, false, found) := set() if found > 0

_excluding(attached, policy, true, _) := _excluding_policies(attached, policy)

_excluding(attached, policy, false, 0) := _excluding_policies(attached, policy)

_excluding_policies(attached, policy) := winners if {
	winners := {winner |
		some element in precedence(kind_of(attached), joins(attached))
		some winner in _owners_of_element(element)
		wins_atomically(attached, winner, policy)
	}
	count(winners) > 0
} else := _winners(attached, policy, {owner | some origin in merged_stack(attached).leaves; some owner in merge.as_list(origin)})

_winners(attached, policy, owners) := {winner | some winner in owners; winning_strategy(attached, winner, policy)}

_owners_near(leaves, pointer) := {owner |
	segments := split(pointer, "/")
	some end in numbers.range(1, count(segments) - 1)
	some owner in merge.as_list(leaves[concat("/", array.slice(segments, 0, end))])
} | {owner |
	strings.any_prefix_match(object.keys(leaves), concat("", [pointer, "/"]))
	some place, origin in leaves
	startswith(place, concat("", [pointer, "/"]))
	some owner in merge.as_list(origin)
}

_joint_owners(attached, _) := set() if not kinds.get(kind_of(attached)).custom

_joint_owners(attached, policy) := {owner |
	some origin in merged_stack(attached).leaves
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
} if {
	kinds.get(kind_of(attached)).custom
}

_owners_of_element(element) := {element} if is_string(element)

_owners_of_element(element) := {owner | some origin in element.origins; some owner in merge.as_list(origin)} if is_object(element)
