package bridge.status

import data.bridge.kinds

# METADATA
# description: |
#   The conditions for the outcome of an accepted policy, from its tallies, in the set that its kind uses: Programmed
#   (GEP-713, "Status conditions") or that of 2025, Enforced, PartiallyEnforced and Overridden, of which one applies
#   (semantics S2).
outcome_conditions(policy_key, tallies) := [{"type": type, "status": status, "reason": reason, "message": message}] if {
	[type, status, reason] := _sets[_set(policy_key)][overall(tallies)]
	message := outcome_message(policy_key, _set(policy_key), tallies)
}

# METADATA
# description: The condition types of both sets that the bridge sets on a policy and removes.
policy_types := {"Accepted"} | {condition[0] | some conditions_by_outcome in _sets; some condition in conditions_by_outcome}

_set(policy_key) := kinds.of_policy(policy_key).conditions

_sets := {
	"Programmed": {
		"Programmed": ["Programmed", "True", "Programmed"],
		"PartiallyProgrammed": ["Programmed", "True", "PartiallyProgrammed"],
		"Overridden": ["Programmed", "False", "Overridden"],
		"Reconciling": ["Programmed", "False", "Reconciling"],
		"NoScope": ["Programmed", "False", "NoScope"],
	},
	"Enforced": {
		"Programmed": ["Enforced", "True", "Enforced"],
		"PartiallyProgrammed": ["PartiallyEnforced", "True", "PartiallyEnforced"],
		"Overridden": ["Overridden", "True", "Overridden"],
		"Reconciling": ["Enforced", "False", "Reconciling"],
		"NoScope": ["Enforced", "False", "NoScope"],
	},
}

# METADATA
# description: |
#   The outcome of a policy over all its paths: Programmed if it is Programmed on all, Overridden if Overridden on all,
#   otherwise PartiallyProgrammed; NoScope without an effective target, a reason beyond GEP-713's (semantics O4). If it
#   is Programmed on none, and not Overridden on all, some could not be computed: Reconciling.
overall(tallies) := overall_of({tally.outcome | some tally in tallies})

# METADATA
# description: The same for the set of its outcomes.
overall_of(outcomes) := "NoScope" if count(outcomes) == 0

overall_of(outcomes) := outcome if {
	count(outcomes) == 1
	some outcome in (outcomes - {"Failed"})
}

overall_of(outcomes) := "Reconciling" if {
	"Failed" in outcomes
	count(outcomes - {"Failed", "Overridden"}) == 0
}

overall_of(outcomes) := "PartiallyProgrammed" if {
	count(outcomes) > 1
	count(outcomes & {"Programmed", "PartiallyProgrammed"}) > 0
}
