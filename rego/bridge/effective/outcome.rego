package bridge.effective

import data.bridge.lib.keys
import data.bridge.merge

# METADATA
# description: |
#   What became of each policy of a stack at its path: `{outcome, overriddenBy}` by policy. All its leaves survive:
#   Programmed; some: PartiallyProgrammed; none: Overridden (semantics O1 to O3).
outcomes(policies, origins) := {policy: fate |
	some policy in policies
	pointers := proper(policy).pointers
	fate := _fate_of(policy, pointers, object.filter(origins, pointers), origins)
}

# Most policies keep all, or lose each leaf to one other: only what a kind's own rules merge has other origins. `kept` are
# the origins at the policy's own pointers.
_fate_of(policy, pointers, kept, origins) := {"outcome": "Programmed", "overriddenBy": []} if {
	count(kept) == count(pointers)
	{origin | some origin in kept} == {policy}
} else := {"outcome": "Overridden", "overriddenBy": sort(winners)} if {
	count(kept) == count(pointers)
	winners := {origin | some origin in kept}
	count(winners) > 0
	not policy in winners
	plain(keys.type_of(policy))
} else := {"outcome": _outcome(policy, lost, origins), "overriddenBy": _overridden_by(policy, lost, origins)} if {
	lost := {pointer | some pointer in pointers; object.get(kept, [pointer], "") != policy}
}

# METADATA
# description: |
#   The same for a side that was merged by rules: a policy's leaves are those that its own strategy's rules make of its spec
#   and of the result, items of lists by their keys and not by their places (semantics F8).
outcomes_by_rules(policies, side) := object.union_n([outcomes([policy], merge.under(side, merge_rules(policy)).origins) |
	some policy in {policy | some policy in policies}
])

_outcome(_, lost, _) := "Programmed" if count(lost) == 0

_outcome(policy, lost, origins) := "PartiallyProgrammed" if {
	count(lost) > 0
	_has_a_part(policy, lost, origins)
} else := "Overridden" if {
	count(lost) > 0
}

_has_a_part(policy, lost, _) if count(lost) < count(proper(policy).pointers)

# A leaf that several made together is nobody's whole, and in part each one's (semantics F9).
_has_a_part(policy, _, origins) if {
	some origin in origins
	is_array(origin)
	policy in origin
}

# The origins at and below the lost pointers; where there are none, all who contributed (semantics O3).
_overridden_by(_, lost, _) := [] if count(lost) == 0

_overridden_by(policy, lost, origins) := sort(winners) if {
	count(lost) > 0
	winners := {winner |
		some pointer in lost
		some winner in _owners(origins[pointer])
		winner != policy
	} | {winner |
		some pointer in lost
		not origins[pointer]
		strings.any_prefix_match(object.keys(origins), concat("", [pointer, "/"]))
		some place, origin in origins
		startswith(place, concat("", [pointer, "/"]))
		some winner in _owners(origin)
		winner != policy
	}
	count(winners) > 0
} else := sort({winner | some origin in origins; some winner in _owners(origin); winner != policy}) if {
	count(lost) > 0
}

_owners(origin) := [origin] if is_string(origin)

_owners(origin) := origin if is_array(origin)
