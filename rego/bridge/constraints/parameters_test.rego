package bridge.guardrail_parameters_test

import data.bridge.admission
import data.bridge.constraints
import data.bridge.testing

_schemas := {"bridge.guardrails.required_policy": {"type": "object", "properties": {
	"kinds": {"type": "array", "items": {"type": "string"}},
	"field": {"type": "string"},
	"internalHostnames": {"type": "array", "items": {"type": "string"}},
}}}

_spec(parameters) := {"policy": "bridge.guardrails.required_policy", "parameters": parameters, "match": {"kinds": [{"kinds": ["HTTPRoute"]}]}}

_problems(spec) := found if {
	found := constraints.parameter_problems_of(spec) with data.bridge_settings.schemas as _schemas
}

test_an_unknown_parameter_has_the_nearest_name if {
	_problems(_spec({"kinds": ["a/B"], "field": "/a", "internalHostnames": ["*.b"]})) == []
	_problems(_spec({"kind": ["a/B"]})) == [`parameters: unknown field "kind"; did you mean "kinds"?`]
	_problems(_spec({"internal": []})) == [`parameters: unknown field "internal"; did you mean "internalHostnames"?`]
	_problems(_spec({"xyz": 1})) == [`parameters: unknown field "xyz"; the guardrail's parameters are field, internalHostnames, kinds`]
	_problems(_spec({"kinds": "a/B"})) == ["parameters: kinds: invalid type. Expected: array, given: string"]
}

test_parameters_of_a_selection_are_checked_too if {
	spec := object.union(_spec({}), {"parameterSelection": [{}, {"parameters": {"fields": 1}}]})
	_problems(spec) == [`parameterSelection[1].parameters: unknown field "fields"; did you mean "field"?`]
}

test_other_policies_have_parameters_of_their_own if {
	_problems({"policy": "k8s.limits", "parameters": {"kind": 1}}) == []
	_problems({"policy": "bridge.guardrails.mine", "parameters": {"kind": 1}}) == []
	_problems(null) == []
}

_constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "c"), _spec({"kind": "a/B"}))

_message := `parameters: unknown field "kind"; did you mean "kinds"?`

test_misspelled_parameters_are_unknown_at_every_object if {
	rows := constraints.violations({"c"}, {testing.cart_route}) with data.objects as testing.stored(array.concat(testing.world, [_constraint]))
		with data.bridge_settings.schemas as _schemas
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
	{[row.message, row.details, row.enforcementAction] | some row in rows} == {[_message, {"severity": "unknown"}, "deny"]}
}

test_a_constraint_with_misspelled_parameters_is_not_accepted if {
	condition := constraints.accepted("c", null, null) with data.objects as testing.stored([_constraint])
		with data.bridge_settings.schemas as _schemas
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
	[condition.status, condition.reason, condition.message] == ["False", "InvalidParameters", _message]
}

_decided(own) := found if {
	request := {"operation": "CREATE", "kind": {"group": "policybridge.io", "kind": "Constraint"}, "name": "c", "object": _constraint}
	found := admission.decision.denied with input as request
		with data.bridge_settings.schemas as _schemas
		with data.bridge.constraints.by_target.own as own
}

_own_guardrail := "bridge.guardrails.mine"

_own_problems(parameters, declared, mentioned) := found if {
	spec := object.union(_spec(parameters), {"policy": _own_guardrail})
	found := constraints.current_parameter_problems(spec) with data.bridge_settings.schemas as _schemas
		with data.bridge.constraints.by_target.own as {_own_guardrail}
		with data.bridge.constraints.by_target.parameter_schemas as declared
		with data.bridge.constraints.by_target.mentions as mentioned
}

test_parameters_of_a_guardrail_of_an_admin_are_checked_by_its_schema if {
	declared := {_own_guardrail: {"properties": {"minimum": {"type": "string"}}, "additionalProperties": false}}
	_own_problems({"minimum": "10s"}, declared, {}) == []
	_own_problems({"minmum": "10s"}, declared, {}) == [`parameters: unknown field "minmum"; did you mean "minimum"?`]
	_own_problems({"minimum": 10}, declared, {}) == ["parameters: minimum: invalid type. Expected: string, given: integer"]
	_own_problems({"anything": 1}, {_own_guardrail: {}}, {}) == []
}

test_a_schema_of_an_admin_is_open_unless_it_closes_itself if {
	one := {"type": "object", "properties": {"a": {"type": "string"}}}
	other := {"type": "object", "properties": {"b": {"type": "string"}, "$ref": {"type": "string"}}}
	every declared in [one, {"allOf": [one, other]}, {"properties": {"a": {"enum": ["x", one]}}}] {
		_own_problems({"a": "x", "b": "y", "$ref": "z"}, {_own_guardrail: declared}, {}) == []
	}
	_own_problems({"b": 1}, {_own_guardrail: {"allOf": [one, other]}}, {}) != []
}

_unusable := "parameters_schema of bridge.guardrails.mine must be a JSON schema: an object without $ref"

test_a_schema_that_opa_cannot_use_is_a_problem if {
	every wrong in [7, null, {"properties": {"a": {"$ref": "https://example.com/a"}}}, {"type": 7}] {
		_own_problems({"minimum": 1}, {_own_guardrail: wrong}, {}) == [_unusable]
	}
}

test_a_parameter_that_is_like_one_that_a_guardrail_reads_is_unknown if {
	mentioned := {_own_guardrail: {"minimum", "violations"}}
	_own_problems({"minimum": "10s"}, {}, mentioned) == []
	hint := `(bridge.guardrails.mine never mentions it; a rule parameters_schema can declare it)`
	_own_problems({"minmum": "10s"}, {}, mentioned) == [concat("", [`parameters: unknown parameter "minmum"; did you mean "minimum"? `, hint])]
	_own_problems({"zz": 1}, {}, mentioned) == []
	_own_problems({"minmum": 1}, {}, {}) == []
}

test_a_request_with_misspelled_parameters_is_denied if {
	_decided({""}) == {_message}
	_decided({"bridge.guardrails.required_policy"}) == set()
}

_own_rows(loaded) := {[row.message, row.enforcementAction] |
	some row in constraints.violations({"c"}, {testing.cart_route}) with data.objects as testing.stored(array.concat(testing.world, [_own_constraint]))
		with data.bridge_settings.schemas as _schemas
		with data.bridge.constraints.by_target.own as {_own_guardrail}
		with data.bridge.constraints.by_target.mentions as {_own_guardrail: {"minimum"}}
		with data.bridge.constraints.by_target.found as _found_by_target
		with data.bridge.constraints.dispatch.policies as loaded
}

_own_constraint := testing.with_spec(
	testing.resource("policybridge.io/v1alpha1", "Constraint", "", "c"),
	object.union(_spec({"minmum": 1}), {"policy": _own_guardrail}),
)

_found_by_target(policy, _, _) := {["judged all the same", {}]} if policy == _own_guardrail

test_misspelled_parameters_of_a_function_of_an_admin_are_unknown_at_every_object if {
	hint := `(bridge.guardrails.mine never mentions it; a rule parameters_schema can declare it)`
	_own_rows({_own_guardrail}) == {[sprintf(`parameters: unknown parameter "minmum"; did you mean "minimum"? %s`, [hint]), "deny"]}
}

test_a_guardrail_that_is_not_loaded_is_no_problem_of_its_parameters if {
	_own_rows(set()) == {["policy bridge.guardrails.mine is not loaded", "deny"]}
}
