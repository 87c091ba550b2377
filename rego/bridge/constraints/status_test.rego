package bridge.constraints_test

import data.bridge.constraints
import data.bridge.testing

_accepted(spec, replicated) := [condition.status, condition.reason, condition.message] if {
	stored := testing.stored([object.union(constraint("c", spec), {"metadata": {"generation": 4}})])
	condition := constraints.accepted("c", replicated) with data.objects as stored
	condition.observedGeneration == 4
}

test_a_valid_constraint_whose_policy_is_loaded_is_accepted if {
	_accepted(_limits, null) == ["True", "Accepted", "Constraint is active"]
}

test_all_that_is_wrong_is_reported if {
	expression := {"key": "a", "operator": "In"}
	_accepted({"policy": "testing.limits", "match": {"labelSelector": {"matchExpressions": [expression]}}, "onParameterSelectionNoMatch": "deny"}, null) == [
		"False", "Invalid",
		"onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches; match.labelSelector.matchExpressions[0]: operator In needs values",
	]
}

test_a_policy_that_is_not_loaded_is_reported_with_what_that_means if {
	[status, reason, message] := _accepted(object.union(_limits, {"policy": "testing.gone"}), null)
	[status, reason] == ["False", "PolicyNotFound"]
	message == "policy testing.gone is not loaded, or has no rule violation: until then, matching objects are denied"
}

test_kinds_that_are_not_replicated_are_reported if {
	_accepted(_limits, ["core/Namespace"])[2] == "Constraint is active; not audited, because not replicated (setting types): apps/Deployment"
	_accepted(_limits, ["apps/Deployment"])[2] == "Constraint is active"
}

test_a_row_as_a_status_has_it if {
	constraints.status_entry({"object": "core/Namespace/-/shop", "enforcementAction": "warn", "message": "no", "details": 1}) == {
		"group": "",
		"kind": "Namespace",
		"namespace": "",
		"name": "shop",
		"enforcementAction": "warn",
		"message": "no",
	}
}

_about(spec, counted) := found if {
	found := constraints.report("c", null, counted) with data.objects as testing.stored([constraint("c", spec)])
}

test_violations_are_reported_once_they_are_counted if {
	not _about(_limits, null).totalViolations
	counted := {"total": 30, "first": [{"object": _cart_key, "enforcementAction": "deny", "message": "no", "details": {}}]}
	found := _about(_limits, counted)
	found.totalViolations == 30
	[entry.name | some entry in found.violations] == ["cart"]
}

test_a_constraint_that_is_invalid_has_none if {
	not _about({"policy": "testing.seen", "onParameterSelectionNoMatch": "deny"}, {"total": 0, "first": []}).totalViolations
}
