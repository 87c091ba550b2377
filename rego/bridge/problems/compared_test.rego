package bridge.problems_test

import data.bridge.problems

_link(child, message) := {"subject": child, "about": "core/Service/shop/gone", "reason": "BackendNotFound", "message": message}

_slow(rule, seconds, action) := {
	"subject": "gateway.networking.k8s.io/HTTPRoute/shop/cart",
	"about": "policybridge.io/Constraint/-/timeouts",
	"reason": "Violation",
	"message": sprintf("rule %s: %ds", [rule, seconds]),
	"enforcementAction": action,
	"identity": {"field": "/timeout", "sections": [concat("", ["#", rule]), "/pay"], "extent": seconds},
}

test_a_problem_is_the_same_whatever_its_message if {
	found := problems.compared([_link("a", "rule x")], [_link("a", "rule y"), _link("b", "rule y")])
	found == {"introduced": {_link("b", "rule y")}, "fixed": set(), "unchanged": {_link("a", "rule y")}}
}

test_a_violation_of_a_renamed_rule_is_the_same_and_a_worse_one_is_new if {
	was := [_slow("pay", 30, "deny")]
	problems.compared(was, [_slow("checkout", 30, "deny")]).introduced == set()
	problems.compared(was, [_slow("checkout", 20, "deny")]).introduced == set()
	problems.compared(was, [_slow("checkout", 31, "deny")]).introduced == {_slow("checkout", 31, "deny")}
}

test_an_error_is_new_where_there_was_a_warning_and_a_warning_where_there_was_an_error_is_not if {
	problems.compared([_slow("pay", 30, "warn")], [_slow("pay", 30, "deny")]).introduced == {_slow("pay", 30, "deny")}
	problems.compared([_slow("pay", 30, "deny")], [_slow("pay", 30, "warn")]).introduced == set()
	warning := object.union(_link("a", "m"), {"enforcementAction": "warn"})
	problems.compared([warning], [_link("a", "m")]) == {"introduced": {_link("a", "m")}, "fixed": set(), "unchanged": set()}
	problems.compared([_link("a", "m")], [warning]).introduced == set()
}

test_findings_that_differ_in_their_messages_alone_are_told_apart if {
	wrong := {"subject": "a", "about": "a", "reason": "InvalidValue", "message": "spec.x: 1"}
	other := object.union(wrong, {"message": "spec.y: 1"})
	problems.compared([wrong], [wrong, other]).introduced == {other}
	several := object.union(_link("a", "m"), {"value": "x"})
	problems.compared([several], [object.union(several, {"value": "y"})]).introduced == {object.union(several, {"value": "y"})}
}
