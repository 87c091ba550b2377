package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_judged := testing.stored([
	testing.with_spec(
		testing.resource("policybridge.io/v1alpha1", "Constraint", "", "seen"),
		{"policy": "testing.seen", "match": {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}]}},
	),
	testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "wrong"), {"onParameterSelectionNoMatch": "deny"}),
	testing.service("cart", []),
	testing.service("stock", []),
])

_places(query_input) := [[row.constraint, row.object] | some row in found] if {
	found := v1.violations with input as query_input with data.objects as _judged
}

test_violations_are_rows_in_a_stable_order if {
	_places({}) == [["seen", "core/Service/shop/cart"], ["seen", "core/Service/shop/stock"]]
}

test_violations_of_objects_or_constraints_that_are_named if {
	_places({"objects": ["core/Service/shop/cart"]}) == [["seen", "core/Service/shop/cart"]]
	_places({"constraints": ["seen"], "objects": ["core/Service/shop/gone"]}) == []
	_places({"constraints": ["wrong"]}) == []
}

test_audited_are_the_objects_of_the_kinds_that_a_constraint_names if {
	found := v1.audit_keys with input as {} with data.objects as _judged
	found == {"seen": ["core/Service/shop/cart", "core/Service/shop/stock"]}
}

test_audited_in_a_namespace_is_what_goes_by_its_labels if {
	namespaced := testing.with_spec(
		testing.resource("policybridge.io/v1alpha1", "Constraint", "", "by-namespace"),
		{"policy": "testing.seen", "match": {"namespaceSelector": {"matchLabels": {"team": "shop"}}}},
	)
	held := object.union(_judged, testing.stored([
		namespaced,
		testing.resource("v1", "Namespace", "", "shop"),
		testing.resource("v1", "Namespace", "", "blog"),
	]))
	found := v1.audit_keys with input as {"namespaces": ["shop"]} with data.objects as object.union(held, _judged)
	found == {"by-namespace": ["core/Namespace/-/shop", "core/Service/shop/cart", "core/Service/shop/stock"]}
}

test_constraints_are_reported if {
	found := v1.constraints with input as {} with data.objects as _judged
	[[entry.constraint, entry.policy, entry.enforcementAction, entry.condition.reason] | some entry in found] == [
		["seen", "testing.seen", "deny", "Accepted"],
		["wrong", "", "deny", "Invalid"],
	]
}

test_what_is_queried_wrongly_is_an_error if {
	every query_input in [
		{"objects": "cart"},
		{"objects": ["cart"]},
		{"constraints": "seen"},
		{"constraints": [1]},
		{"replicated": 1},
		{"namespaces": [1]},
		{"changes": {"delete": 1}},
	] {
		found := v1.violations with input as query_input with data.objects as _judged
		found.error.code == "InvalidInput"
	}
}
