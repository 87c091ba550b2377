package bridge.constraints_test

import data.bridge.constraints

# By the schema: tests/integration/test_constraint_crd.py.
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
}
