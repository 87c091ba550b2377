package bridge.constraints

import data.bridge.lib.schema

# METADATA
# description: |
#   All problems of a Constraint's spec, in a stable order: those by the schema of the CRD, then those that an API server
#   finds by the CRD's validation rules.
problems(spec) := array.flatten([schema.problems("Constraint", spec), _unused_action(spec), _expression_problems(spec)])

_unused_action(spec) := ["onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches"] if {
	object.get(spec, "parameterSelection", []) == []
	object.get(spec, "onParameterSelectionNoMatch", "proceed") != "proceed"
} else := []

# Values for operators that compare, none for the others.
_expression_problems(spec) := [sprintf("%s: operator %s needs %s", [place, expression.operator, needed]) |
	some [path, match] in _matches(spec)
	some field in ["labelSelector", "namespaceSelector"]
	some index, expression in match[field].matchExpressions
	needed := {true: "values", false: "no values"}[expression.operator in {"In", "NotIn"}]
	{true: "values", false: "no values"}[count(object.get(expression, "values", [])) > 0] != needed
	place := sprintf("%s.%s.matchExpressions[%d]", [path, field, index])
]

_matches(spec) := array.concat(
	[["match", spec.match] | spec.match],
	[[sprintf("parameterSelection[%d].match", [index]), entry.match] | some index, entry in spec.parameterSelection],
)
