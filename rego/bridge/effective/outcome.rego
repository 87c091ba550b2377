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
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[policy in owners], "overriddenBy": sort(_overriding(attached, policy, owners | below))} if {
	own := object.keys(_leaves_of(attached, policy))
	leaves := object.filter(merged_stack(attached).leaves, own)
	owners := {owner | some origin in leaves; some owner in merge.as_list(origin)}
	below := _owners_below(attached, own - object.keys(leaves))
}

# The leaves of a policy by the rules of the stack.
_leaves_of(attached, policy) := policies.facts(policy).origins if {
	kinds.traits(kind_of(attached)).joins != "parents"
} else := merge.keyed_side(policies.facts(policy).spec, policy, rules_of(attached)).origins

# The policies that override a policy: of those that set its lost leaves or values below them (`owners`), those that can
# win, and those that made a leaf together with it (semantics F9); if there are none, all contributors that can win; if
# there are none, the policies that excluded it as a whole, although they set nothing themselves (semantics O3).
_overriding(attached, policy, owners) := winners if {
	winners := _winners(attached, policy, owners) | _joint_owners(attached, policy)
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

_owners_below(_, pointers) := set() if pointers == set()

_owners_below(attached, pointers) := {owner |
	leaves := merged_stack(attached).leaves
	some pointer in pointers
	strings.any_prefix_match(object.keys(leaves), concat("", [pointer, "/"]))
	some place, origin in leaves
	startswith(place, concat("", [pointer, "/"]))
	some owner in merge.as_list(origin)
} if {
	pointers != set()
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
