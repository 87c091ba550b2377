package bridge.status_test

import data.bridge.outcomes
import data.bridge.status
import data.bridge.testing

_reported_for(refs) := [[entry.ancestorRef, entry.conditions[0].reason, entry.conditions[0].message] |
	found := status.of_policy(_slow, []) with input as testing.changed([_timeout(refs)])
	some entry in found.ancestors
]

_under_its_own_name := {"group": "example.com", "kind": "TimeoutPolicy", "name": "slow", "namespace": "shop"}

# T4, S3: nothing is lost where no object can be named.
test_a_policy_without_targets_has_an_entry_under_its_own_name if {
	_reported_for([]) == [[_under_its_own_name, "Invalid", "Policy names no target: spec.targetRefs is missing or empty"]]
}

# T4, S3
test_refs_that_name_nothing_share_an_entry_that_names_each if {
	_reported_for([{"kind": "Service"}, testing.service_ref("gone"), {"name": "x"}]) == [
		[_under_its_own_name, "Invalid", "spec.targetRefs[0].name is missing or empty; spec.targetRefs[2].kind is missing or empty"],
		[{"group": "", "kind": "Service", "name": "gone", "namespace": "shop"}, "TargetNotFound", "Target Service/shop/gone is not found"],
	]
}

# K4, O4
test_frontends_that_a_policy_names_are_reported_as_frontends if {
	kind := testing.policykind(object.union(testing.timeout_kind, {
		"kind": "RetryPolicy",
		"class": "Inherited",
		"effectiveTarget": "Rule",
		"targets": [{"kind": "Service", "role": "Frontend"}],
		"defaultStrategy": "AtomicDefaults",
		"statusShape": "Conditions",
	}))
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}, {"group": "", "kind": "Service", "name": "stock"}], [{"name": "one"}])
	policy := object.union(_timeout([testing.service_ref("cart"), testing.service_ref("stock")]), {"kind": "RetryPolicy"})
	document := testing.changed([kind, mesh, testing.service("stock", []), policy])
	[_, programmed] := _retry_conditions with input as document
	contains(programmed.message, "Service/shop/cart@frontend is Programmed, Service/shop/stock@frontend is Programmed")
}

_retry_conditions := status.of_policy(_retry_key, outcomes.tallies(_retry_key)).conditions

_retry_key := "example.com/RetryPolicy/shop/slow"
