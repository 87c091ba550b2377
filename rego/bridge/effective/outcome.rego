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
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[_keeps_some(attached, policy)], "overriddenBy": sort(overriding(attached, policy))}

# The leaves of a policy by the rules of the stack.
_leaves_of(attached, policy) := known.origins if {
	known := policies.facts(policy)
	known.rules == rules_of(attached)
} else := merge.keyed_side(policies.facts(policy).spec, policy, rules_of(attached)).origins

_keeps_some(attached, policy) if {
	some pointer, _ in _leaves_of(attached, policy)
	policy in merge.as_list(merged_stack(attached).leaves[pointer])
} else := false

# METADATA
# description: |
#   The policies that override a policy: of those that set its lost leaves, or values below them, those that can win, and
#   those that made a leaf together with it (semantics F9); if there are none, all contributors that can win; if there
#   are none, the policies that excluded it as a whole, although they set nothing themselves (semantics O3).
overriding(attached, policy) := winners if {
	winners := _winners(attached, policy, _owners_of_lost(attached, policy)) | _joint_owners(attached, policy)
	count(winners) > 0
} else := winners if {
	winners := _winners(attached, policy, {owner | some origin in merged_stack(attached).leaves; some owner in merge.as_list(origin)})
	count(winners) > 0
} else := {winner |
	some element in precedence(kind_of(attached), joins(attached))
	some winner in _owners_of_element(element)
	wins_atomically(attached, winner, policy)
}

_winners(attached, policy, owners) := {winner | some winner in owners; winning_strategy(attached, winner, policy)}

_owners_of_lost(attached, policy) := {owner |
	some pointer in lost
	some owner in merge.as_list(leaves[pointer])
} | {owner |
	some pointer in lost
	not leaves[pointer]
	strings.any_prefix_match(object.keys(leaves), concat("", [pointer, "/"]))
	some place, origin in leaves
	startswith(place, concat("", [pointer, "/"]))
	some owner in merge.as_list(origin)
} if {
	leaves := merged_stack(attached).leaves
	lost := {pointer | some pointer, _ in _leaves_of(attached, policy); object.get(leaves, [pointer], "") != policy}
}

_joint_owners(attached, policy) := {owner |
	some origin in merged_stack(attached).leaves
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
}

_owners_of_element(element) := {element} if is_string(element)

_owners_of_element(element) := {owner | some origin in element.origins; some owner in merge.as_list(origin)} if is_object(element)
