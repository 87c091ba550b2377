package bridge.status

import data.bridge.kinds

# METADATA
# description: |
#   The Programmed condition from a policy's tallies: Programmed if it is on all paths, Overridden if on all, else
#   PartiallyProgrammed; where it reaches nothing NoScope, a reason beyond GEP-713's (semantics O4).
programmed(policy_key, tallies) := {
	"type": "Programmed",
	"status": _status[reason],
	"reason": reason,
	"message": _message(policy_key, reason, tallies),
} if {
	reason := _reason({tally.outcome | some tally in tallies})
}

_status := {
	"Programmed": "True",
	"PartiallyProgrammed": "True",
	"Overridden": "False",
	"NoScope": "False",
	"Failed": "False",
}

_reason(outcomes) := "NoScope" if count(outcomes) == 0

_reason(outcomes) := outcome if {
	count(outcomes) == 1
	some outcome in outcomes
}

_reason(outcomes) := "Failed" if outcomes == {"Overridden", "Failed"}

_reason(outcomes) := "PartiallyProgrammed" if {
	count(outcomes) > 1
	count(outcomes & {"Programmed", "PartiallyProgrammed"}) > 0
}

_message(policy_key, "NoScope", _) := sprintf("Policy reaches nothing: there is no %s at or below its targets", [
	lower(kinds.of_policy(policy_key).effectiveTarget),
])

_message(_, reason, tallies) := fitted(concat(". ", array.concat(shown, _rest(groups)))) if {
	reason != "NoScope"
	groups := _groups(tallies)
	shown := array.slice(groups, 0, group_bound)
}

# METADATA
# description: How many explanations a message gives before it only counts.
group_bound := 8

_rest(groups) := [] if count(groups) <= group_bound

_rest(groups) := [sprintf("And %d more explanations", [count(groups) - group_bound])] if count(groups) > group_bound

# Tallies of several ancestors say the same thing in one sentence.
_groups(tallies) := [_sentence(group[1], group[2], number, examples) |
	some group in sort({[_rank[tally.outcome], tally.outcome, tally.by] | some tally in tallies})
	members := [tally | some tally in tallies; tally.outcome == group[1]; tally.by == group[2]]
	number := sum([tally.count | some tally in members])
	examples := array.slice(sort({example | some tally in members; some example in tally.examples}), 0, 3)
]

_rank := {"Programmed": 0, "PartiallyProgrammed": 1, "Overridden": 2, "Failed": 3}

_sentence(outcome, by, number, examples) := sprintf("%s on %s%s: %s%s", [
	_verbs[outcome],
	_scopes(number),
	_by(outcome, by),
	concat("; ", examples),
	_more(number - count(examples)),
])

_verbs := {
	"Programmed": "Programmed",
	"PartiallyProgrammed": "Partially overridden",
	"Overridden": "Overridden",
	"Failed": "Not computed",
}

_scopes(1) := "1 scope"

_scopes(number) := sprintf("%d scopes", [number]) if number != 1

_by("Programmed", _) := ""

_by("Failed", by) := sprintf(" (%s)", [by[0]])

_by(outcome, by) := concat("", [" by ", concat(", ", array.slice(by, 0, 5)), _more(count(by) - 5)]) if {
	outcome in {"PartiallyProgrammed", "Overridden"}
}

_more(number) := "" if number <= 0

_more(number) := sprintf(" and %d more", [number]) if number > 0

# METADATA
# description: A message within the 32768 characters that a condition may have.
fitted(text) := text if count(text) <= 32768

fitted(text) := concat("", [substring(text, 0, 32767), "…"]) if count(text) > 32768
