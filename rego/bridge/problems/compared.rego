package bridge.problems

import data.bridge.constraints

# METADATA
# description: |
#   The difference between the problems of two states: those that are `introduced`, `fixed` and `unchanged`. A problem is the
#   same if its subject, its reason, its `value` and what it is about are, whatever its message; a violation by the rule of
#   `bridge.constraints.compared`, for which its `identity` has the details, and the message without an exemption. An error is
#   introduced where there was a warning.
compared(before, after) := {name: (others[name] | {row.problem | some row in rows}) |
	some name, rows in violations
} if {
	others := _others(before, after)
	violations := constraints.compared(_violations_among(before), _violations_among(after))
}

_violations_among(problems) := [row |
	some problem in problems
	problem.reason == "Violation"
	row := {
		"constraint": problem.about,
		"object": problem.subject,
		"message": object.get(problem, ["identity", "message"], problem.message),
		"enforcementAction": object.get(problem, "enforcementAction", "deny"),
		"details": object.union(
			{"field": field | field := problem.identity.field},
			{"identity": object.filter(problem.identity, ["sections", "extent"]) | problem.identity.sections},
		),
		"problem": problem,
	}
]

_others(before, after) := {
	"introduced": {problem | some problem in _of_state(after); not _is_known(problem, former)},
	"fixed": {problem | some problem in _of_state(before); not now[_name(problem)]},
	"unchanged": {problem | some problem in _of_state(after); _is_known(problem, former)},
} if {
	former := _by_name(before)
	now := _by_name(after)
}

_of_state(problems) := [problem | some problem in problems; problem.reason != "Violation"]

# A rule, so the cost is that of the problems: a comprehension would read all of them for each name.
_by_name(problems) := found if found := _grouped with input as {"problems": problems}

_grouped[name] contains weight if {
	some problem in input.problems
	problem.reason != "Violation"
	name := _name(problem)
	weight := _weight(problem)
}

_name(problem) := [problem.subject, problem.about, problem.reason, problem.value] if {
	true
} else := [problem.subject, problem.about, problem.reason, problem.message] if {
	problem.reason in _of_places
} else := [problem.subject, problem.about, problem.reason]

# Each of these problems is about one of several places in its object, which the message alone names.
_of_places := {"InvalidValue", "RegoRejected", "UnknownField", "UnknownKind", "VersionNotServed"}

_weight(problem) := object.get(problem, "enforcementAction", "deny")

_is_known(problem, former) if {
	former[_name(problem)]
	_weight(problem) != "deny"
}

_is_known(problem, former) if "deny" in former[_name(problem)]
