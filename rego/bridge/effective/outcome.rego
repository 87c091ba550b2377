package bridge.effective

import data.bridge.kinds
import data.bridge.merge
import data.bridge.policy as policies

# METADATA
# description: |
#   What became of one policy of a stack at its path, `{outcome, overriddenBy}`: all its leaves survive: Programmed; some:
#   PartiallyProgrammed; none: Overridden (semantics O1 to O3). Most policies keep all.
outcome(attached, policy) := {"outcome": "Programmed", "overriddenBy": []} if {
	object.subset(_origins(attached, policy), _kept_whole(policy))
} else := {"outcome": "Overridden", "overriddenBy": sort(_winners(attached, policy, owners))} if {
	# Most others lose every leaf to another policy that has a leaf there.
	own := policies.facts(policy).origins
	kept := object.filter(merged(attached).origins, object.keys(own))
	count(kept) == count(own)
	kinds.traits(kind_of(attached)).plain
	owners := {origin | some origin in kept}
	not policy in owners
	count(_winners(attached, policy, owners)) > 0
} else := {"outcome": _outcome(policy, lost, origins), "overriddenBy": _overridden_by(attached, policy, lost, origins)} if {
	origins := _origins(attached, policy)
	lost := {pointer | some pointer, _ in policies.facts(policy).origins; object.get(origins, [pointer], "") != policy}
}

# The origins of a stack, in the form in which the rules of a policy's own strategy have leaves: items of lists by their
# keys and not by their places (semantics F8).
_origins(attached, policy) := merged(attached).origins if {
	kinds.traits(policies.kind_of(policy)).plain
} else := merge.under(merged(attached).side, policies.facts(policy).rules).origins

_kept_whole(policy) := {pointer: policy | some pointer, _ in policies.facts(policy).origins} if {
	kinds.both_wrappers(policies.kind_of(policy))
} else := policies.facts(policy).origins

_outcome(_, lost, _) := "Programmed" if count(lost) == 0

_outcome(policy, lost, origins) := "PartiallyProgrammed" if {
	count(lost) > 0
	_has_a_part(policy, lost, origins)
} else := "Overridden" if {
	count(lost) > 0
}

_has_a_part(policy, lost, _) if count(lost) < count(policies.facts(policy).origins)

# A leaf that several made together belongs to none of them as a whole, and in part to each (semantics F9).
_has_a_part(policy, _, origins) if {
	some origin in origins
	is_array(origin)
	policy in origin
}

# The origins at and below the lost pointers; where there are none, all that contributed; of both those that can win
# (semantics O3).
_overridden_by(_, _, lost, _) := [] if count(lost) == 0

_overridden_by(attached, policy, lost, origins) := sort(winners) if {
	count(lost) > 0
	winners := _winners(attached, policy, _owners_at(lost, origins)) | _joint_owners(policy, origins)
	count(winners) > 0
} else := sort(_winners(attached, policy, {owner | some origin in origins; some owner in _owners(origin)})) if {
	count(lost) > 0
}

_winners(attached, policy, owners) := {winner | some winner in owners; winning_strategy(attached, winner, policy)}

_owners_at(lost, origins) := {owner | some pointer in lost; some owner in _owners(origins[pointer])} | {owner |
	some pointer in lost
	not origins[pointer]
	strings.any_prefix_match(object.keys(origins), concat("", [pointer, "/"]))
	some place, origin in origins
	startswith(place, concat("", [pointer, "/"]))
	some owner in _owners(origin)
}

_joint_owners(policy, origins) := {owner |
	some origin in origins
	is_array(origin)
	policy in origin
	some owner in origin
	owner != policy
}

_owners(origin) := [origin] if is_string(origin)

_owners(origin) := origin if is_array(origin)
