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
	object.subset(_origins(attached, policy), _kept_whole(policy))
} else := {"outcome": {true: "PartiallyProgrammed", false: "Overridden"}[policy in owners], "overriddenBy": sort(winners)} if {
	# Most policies lose leaves to policies that have a leaf at the same place.
	kinds.traits(kind_of(attached)).plain
	own := policies.facts(policy).origins
	there := object.filter(merged_stack(attached).origins, object.keys(own))
	count(there) == count(own)
	owners := {origin | some origin in there}
	winners := _winners(attached, policy, owners)
	count(winners) > 0
} else := {"outcome": "Programmed", "overriddenBy": []} if {
	kinds.is_additive(kind_of(attached))
} else := {"outcome": _outcome(attached, policy, lost), "overriddenBy": sort(_overriding(attached, policy, lost))} if {
	origins := _origins(attached, policy)
	lost := {pointer | some pointer, _ in policies.facts(policy).origins; object.get(origins, [pointer], "") != policy}
}

# The origins of a stack, with the leaves that a policy's own strategy rules define: items of lists by their keys
# instead of their places (semantics F8).
_origins(attached, policy) := _origins_by(attached, policies.facts(policy).rules)

_origins_by(attached, rules) := merged_stack(attached).origins if {
	kinds.traits(kind_of(attached)).plain
} else := merge.side_by_rules(merged_stack(attached).side, rules).origins

_kept_whole(policy) := {pointer: policy | some pointer, _ in policies.facts(policy).origins} if {
	kinds.merges_parts(policies.kind_of(policy))
} else := policies.facts(policy).origins

_outcome(_, _, lost) := "Programmed" if count(lost) == 0

_outcome(attached, policy, lost) := "PartiallyProgrammed" if {
	count(lost) > 0
	_has_a_part(attached, policy, lost)
} else := "Overridden" if {
	count(lost) > 0
}

_has_a_part(attached, policy, lost) if {
	count(lost) < count(policies.facts(policy).origins)
} else if {
	count(_joint_owners(attached, policy)) > 0
}

# The policies that set the lost pointers or a value below them, or all that set a value; in both cases those that can
# win. If there are none, the policies that excluded this one as a whole, although they set nothing themselves
# (semantics O3).
_overriding(_, _, lost) := set() if count(lost) == 0

_overriding(attached, policy, lost) := winners if {
	count(lost) > 0
	winners := _winners(attached, policy, _owners_at(lost, _origins(attached, policy))) | _joint_owners(attached, policy)
	count(winners) > 0
} else := winners if {
	count(lost) > 0
	winners := _winners(attached, policy, _contributors(attached))
	count(winners) > 0
} else := {winner | some winner in _owners_in_order(attached); wins_atomically(attached, winner, policy)} if {
	count(lost) > 0
}

_winners(attached, policy, owners) := {winner | some winner in owners; winning_strategy(attached, winner, policy)}

_owners_at(lost, origins) := {owner | some pointer in lost; some owner in merge.as_list(origins[pointer])} | {owner |
	some pointer in lost
	not origins[pointer]
	strings.any_prefix_match(object.keys(origins), concat("", [pointer, "/"]))
	some place, origin in origins
	startswith(place, concat("", [pointer, "/"]))
	some owner in merge.as_list(origin)
}

_contributors(attached) := {owner | some origin in merged_stack(attached).origins; some owner in merge.as_list(origin)}

# The policies in the order of precedence, whether they set a value or not.
_owners_in_order(attached) := {owner |
	some element in precedence(joins(kind_of(attached), attached), ranks(kind_of(attached), attached)).elements
	some origin in side(element).origins
	some owner in merge.as_list(origin)
}

# A leaf that several policies made together belongs partly to each of them (semantics F9).
_joint_owners(attached, policy) := {owner |
	some origin in _joint_origins(attached, policies.facts(policy).rules)
	policy in origin
	some owner in origin
	owner != policy
}

_joint_origins(attached, rules) := {origin | some origin in _origins_by(attached, rules); is_array(origin)}
