package bridge.problems_test

import data.bridge.problems

_guard := "policybridge.io/Constraint/-/timeouts"

_passed(former, latter, after, guardrails) := problems.passed_by_relaxing({"former": former, "latter": latter, "after": after}, guardrails)

test_finding_of_a_former_guardrail_names_it_or_its_rego if {
	slow := _slow("pay", 30, "deny")
	[one] := [one | some one in _passed([], [slow], [], [_guard])]
	[one.reason, one.causes, one.message] == ["GuardrailRelaxed", [_guard], "rule pay: 30s, by the Constraint as it is before the change"]
	rules := "core/ConfigMap/opa-policies/rules"
	[other] := [other | some other in _passed([], [slow], [], [rules])]
	[other.causes, other.message] == [[rules], "rule pay: 30s, by the guardrail's Rego as it is before the change"]
}

test_finding_that_is_not_new_or_is_found_after_the_change_too_or_excused_is_not_passed if {
	slow := _slow("pay", 30, "deny")
	_passed([slow], [slow], [], [_guard]) == set()
	_passed([], [slow], [slow], [_guard]) == set()
	_passed([], [_slow("pay", 30, "dryrun")], [], [_guard]) == set()
	_passed([], [slow], [object.union(slow, {"enforcementAction": "exempt", "exemption": {"number": 1}})], [_guard]) == set()
	count(_passed([], [slow], [_slow("pay", 30, "warn")], [_guard])) == 1
}
