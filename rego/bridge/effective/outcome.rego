package bridge.effective

# METADATA
# description: |
#   What became of each policy of a stack at its path: `{outcome, overriddenBy}` by policy. All its leaves survive:
#   Programmed; some: PartiallyProgrammed; none: Overridden (semantics O1 to O3).
outcomes(policies, origins) := {policy: {"outcome": outcome, "overriddenBy": overridden_by} |
	some policy in policies
	lost := {pointer | some pointer in proper(policy).pointers; object.get(origins, [pointer], "") != policy}
	outcome := _outcome(count(lost), count(proper(policy).pointers))
	overridden_by := _overridden_by(policy, lost, origins)
}

_outcome(0, _) := "Programmed"

_outcome(lost, all) := "PartiallyProgrammed" if {
	lost > 0
	lost < all
}

_outcome(lost, all) := "Overridden" if {
	lost > 0
	lost == all
}

# The origins at and below the lost pointers; where there are none, all who contributed (semantics O3).
_overridden_by(_, lost, _) := [] if count(lost) == 0

_overridden_by(policy, lost, origins) := sort(winners) if {
	count(lost) > 0
	winners := {origins[pointer] | some pointer in lost} | {winner |
		some pointer in lost
		not origins[pointer]
		some place, winner in origins
		startswith(place, concat("", [pointer, "/"]))
		winner != policy
	}
	count(winners) > 0
} else := sort({winner | some winner in origins; winner != policy}) if {
	count(lost) > 0
}
