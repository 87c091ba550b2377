package bridge.exemptions_test

import data.bridge.constraints
import data.bridge.testing

_spec(until) := {
	"policy": "bridge.guardrails.required_policy",
	"match": {"kinds": [{"kinds": ["HTTPRoute"]}]},
	"parameters": {"kinds": ["example.com/ColorPolicy"], "field": "theme"},
	"exemptions": [
		{"match": {"name": "other"}, "owner": "a", "reason": "b", "until": "2999-01-01"},
		{"match": {"name": "cart"}, "owner": "team web", "reason": "why not", "until": until},
	],
}

_cart := constraints.subject(testing.route("cart", [], []))

_at(text) := time.parse_rfc3339_ns(text)

test_the_first_entry_that_matches_counts if {
	constraints.exemption_of(_spec("2999-01-01"), _cart) == {"number": 1, "owner": "team web", "reason": "why not", "until": "2999-01-01"}
	not constraints.exemption_of({}, _cart)
}

test_an_exemption_ends_with_its_last_day if {
	constraints.exemption_of(_spec("2026-05-31"), _cart) with time.now_ns as _at("2026-05-31T23:59:58Z")
	not constraints.exemption_of(_spec("2026-05-31"), _cart) with time.now_ns as _at("2026-06-01T00:00:00Z")
}

test_expired_and_useless_exemptions_are_remarked if {
	constraints.exemption_remarks(_spec("2020-01-01"), null) == ["exemptions[1] of team web expired on 2020-01-01"]
	constraints.exemption_remarks(_spec("2020-01-01"), {"exempted": {}}) == [
		"exemptions[0] of a exempts no violation",
		"exemptions[1] of team web expired on 2020-01-01",
	]
	constraints.exemption_remarks(_spec("2999-01-01"), {"exempted": {"0": 1, "1": 2}}) == []
	constraints.exemption_remarks({}, {"exempted": {}}) == []
}

_requirements(field) := found if {
	constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "colors"), _spec("2999-01-01"))
	found := constraints.exemptions_of_requirement("example.com/ColorPolicy", field, testing.cart_pay) with input as testing.changed([constraint])
}

test_a_requirement_exempts_its_kind_and_field if {
	{one.constraint | some one in _requirements("/theme")} == {"colors"}
	_requirements("/text") == set()
}
