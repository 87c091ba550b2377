package bridge.constraints_test

import data.bridge.constraints
import data.bridge.testing

constraint(name, spec) := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", name), spec)

_cart := testing.with_spec(_deployment, {"replicas": 5})

_cart_key := "apps/Deployment/shop/cart"

_limits := {
	"policy": "testing.limits",
	"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]},
	"parameters": {"limit": 3},
}

# The rows of one Constraint on the Deployment, in a namespace with a team.
_rows(spec) := found if {
	stored := testing.stored([constraint("c", spec), _cart, _namespace, _class])
	found := constraints.violations(["c"], null) with data.objects as stored
}

_messages(spec) := {[row.object, row.message] | some row in _rows(spec)}

test_a_violation_is_a_row if {
	_rows(_limits) == {{
		"constraint": "c",
		"object": _cart_key,
		"enforcementAction": "deny",
		"message": "5 replicas are more than 3",
		"details": {},
	}}
}

test_values_within_the_limit_are_no_violation if {
	_rows(object.union(_limits, {"parameters": {"limit": 5}})) == set()
}

test_each_row_has_its_enforcement if {
	{row.enforcementAction | some row in _rows(object.union(_limits, {"enforcementAction": "dryrun"}))} == {"dryrun"}
}

test_details_are_the_policys_own if {
	rows := _rows({"policy": "testing.labels", "match": {"name": "cart"}, "parameters": {"labels": ["owner"]}})
	{[row.message, row.details] | some row in rows} == {["missing labels: owner", {"missing": {"owner"}}]}
}

test_every_object_is_judged_where_a_match_is_empty if {
	found := _messages({"policy": "testing.labels", "parameters": {"labels": ["team"]}})
	found == {
		[_cart_key, "missing labels: team"],
		["gateway.networking.k8s.io/GatewayClass/-/example", "missing labels: team"],
	}
}

test_a_policy_that_is_not_loaded_is_a_violation if {
	_messages(object.union(_limits, {"policy": "testing.gone"})) == {[_cart_key, "policy testing.gone is not loaded"]}
}

test_an_invalid_constraint_has_no_violations if {
	_messages(object.union(_limits, {"onParameterSelectionNoMatch": "deny"})) == set()
}

test_deny_without_a_match_is_a_violation_and_asks_no_policy if {
	spec := object.union(_limits, {
		"parameterSelection": [_entry("large", {"limit": 8})],
		"onParameterSelectionNoMatch": "deny",
	})
	_messages(spec) == {[_cart_key, "no entry of parameterSelection matches"]}
}

test_allow_and_warn_without_a_match_are_no_violations if {
	every said in ["allow", "warn"] {
		spec := object.union(_limits, {
			"parameterSelection": [_entry("large", {"limit": 8})],
			"onParameterSelectionNoMatch": said,
		})
		_messages(spec) == set()
	}
}

_crooked(answer) := {"policy": "testing.crooked", "match": {"name": "cart"}, "parameters": {"answer": answer}}

test_an_answer_that_is_no_set_is_a_violation if {
	_messages(_crooked(true)) == {[_cart_key, "policy testing.crooked: violation is not a set of {msg, details} but true"]}
}

test_a_violation_without_msg_is_one_all_the_same if {
	_messages(_crooked([{"message": "no"}])) == {[_cart_key, `policy testing.crooked: a violation has no msg: {"message":"no"}`]}
	_messages(_crooked(["no"])) == {[_cart_key, `policy testing.crooked: a violation has no msg: "no"`]}
}

test_a_list_of_violations_is_as_good_as_a_set if {
	_messages(_crooked([{"msg": "no"}])) == {[_cart_key, "no"]}
	_messages(_crooked([])) == set()
}

test_a_policy_gets_the_input_of_gatekeepers_audit if {
	some row in _rows({"policy": "testing.seen", "match": {"name": "cart"}, "parameters": {"a": 1}})
	row.details == {
		"parameters": {"a": 1},
		"review": {
			"kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
			"name": "cart",
			"namespace": "shop",
			"object": _cart,
		},
	}
}

test_objects_of_the_bridge_are_judged_by_none if {
	{row.object | some row in _rows({"policy": "testing.seen"})} == {
		_cart_key,
		"core/Namespace/-/shop",
		"gateway.networking.k8s.io/GatewayClass/-/example",
	}
}

test_only_the_objects_that_are_requested_are_judged if {
	stored := testing.stored([constraint("c", {"policy": "testing.seen"}), _cart, _class])
	query_input := [_cart_key, "apps/Deployment/shop/gone", "policybridge.io/Constraint/-/c"]
	found := constraints.violations(["c"], query_input) with data.objects as stored
	{row.object | some row in found} == {_cart_key}
}

test_a_change_is_judged_as_if_it_were_made if {
	stored := testing.stored([constraint("c", _limits), _cart])
	changed := object.union(_cart, {"spec": {"replicas": 9}})
	found := constraints.violations(["c"], null) with data.objects as stored
		with input as {"changes": {"upsert": [changed]}}
	{row.message | some row in found} == {"9 replicas are more than 3"}
	gone := constraints.violations(["c"], null) with data.objects as stored with input as {"changes": {"delete": [_cart_key]}}
	gone == set()
}

# By the schema: tests/deploy/test_crds.py.
test_an_action_without_a_selection_is_reported if {
	constraints.problems({"policy": "a", "onParameterSelectionNoMatch": "deny"}) == ["onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches"]
	constraints.problems({"policy": "a", "onParameterSelectionNoMatch": "deny", "parameterSelection": [{"parameters": {}}]}) == []
	constraints.problems({"policy": "a"}) == []
}

test_expressions_have_the_values_that_their_operator_needs if {
	every row in [
		[{"key": "a", "operator": "In"}, ["match.labelSelector.matchExpressions[0]: operator In needs values"]],
		[{"key": "a", "operator": "Exists", "values": ["b"]}, ["match.labelSelector.matchExpressions[0]: operator Exists needs no values"]],
		[{"key": "a", "operator": "NotIn", "values": ["b"]}, []],
		[{"key": "a", "operator": "DoesNotExist"}, []],
	] {
		constraints.problems({"policy": "a", "match": {"labelSelector": {"matchExpressions": [row[0]]}}}) == row[1]
	}
	selection := [{"parameters": {}}, {"parameters": {}, "match": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}}}]
	constraints.problems({"policy": "a", "parameterSelection": selection}) == ["parameterSelection[1].match.namespaceSelector.matchExpressions[0]: operator In needs values"]
	exempting := [{"match": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}}}]
	constraints.problems({"policy": "a", "exemptions": exempting}) == ["exemptions[0].match.labelSelector.matchExpressions[0]: operator NotIn needs values"]
}

_accepted(spec, replicated) := [condition.status, condition.reason, condition.message] if {
	stored := testing.stored([object.union(constraint("c", spec), {"metadata": {"generation": 4}})])
	condition := constraints.accepted("c", replicated, null) with data.objects as stored
	condition.observedGeneration == 4
}

test_a_valid_constraint_with_a_loaded_policy_is_accepted if {
	_accepted(_limits, null) == ["True", "Accepted", "Constraint is active"]
}

test_all_that_is_wrong_is_reported if {
	expression := {"key": "a", "operator": "In"}
	_accepted({"policy": "testing.limits", "match": {"labelSelector": {"matchExpressions": [expression]}}, "onParameterSelectionNoMatch": "deny"}, null) == [
		"False", "Invalid",
		"onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches; match.labelSelector.matchExpressions[0]: operator In needs values",
	]
}

test_a_policy_that_is_not_loaded_is_reported_with_the_consequence if {
	[status, reason, message] := _accepted(object.union(_limits, {"policy": "testing.gone"}), null)
	[status, reason] == ["False", "PolicyNotFound"]
	message == "policy testing.gone is not loaded, or has no rule violation. Until it is, matching objects are denied"
	every action, effect in {"warn": "cause warnings", "dryrun": "are reported as violations"} {
		gone := object.union(_limits, {"policy": "testing.gone", "enforcementAction": action})
		endswith(_accepted(gone, null)[2], concat(" ", [". Until it is, matching objects", effect]))
	}
}

test_kinds_that_are_not_replicated_are_reported if {
	_accepted(_limits, ["core/Namespace"])[2] == "Constraint is active; not audited, because not replicated (setting types): apps/Deployment"
	_accepted(_limits, ["apps/Deployment"])[2] == "Constraint is active"
}

test_a_row_as_a_status_has_it if {
	constraints._status_entry({"object": "core/Namespace/-/shop", "enforcementAction": "warn", "message": "no", "details": 1}) == {
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

test_exempted_violations_are_counted_apart if {
	spec := object.union(_limits, {"exemptions": [{"owner": "a", "reason": "b", "until": "2999-01-01"}, {"owner": "c", "reason": "d", "until": "2999-01-01"}]})
	found := _about(spec, {"total": 1, "first": [], "exempted": {"0": 2, "1": 3}})
	[found.totalViolations, found.exemptedViolations] == [1, 5]
}

test_details_are_an_object_whatever_a_policy_returns if {
	answer := [{"msg": "a", "details": details} | some details in ["text", 5, null, {"field": "x"}]]
	constraints.violations_of("testing.odd", answer) == {["a", {}], ["a", {"field": "x"}]}
}
