package bridge.constraints_test

import data.bridge.constraints

_rule(spec) := {
	"apiVersion": "policybridge.io/v1alpha1",
	"kind": "Constraint",
	"metadata": {"name": "tidy"},
	"spec": object.union({"policy": "testing.tidy"}, spec),
}

test_a_constraint_demands_less_when_it_is_deleted_or_acts_less if {
	constraints.relaxed(_rule({}), null) == "Constraint/tidy is deleted, and its enforcementAction was deny"
	constraints.relaxed(_rule({}), _rule({"enforcementAction": "dryrun"})) == "Constraint/tidy has the enforcementAction dryrun in place of deny"
	constraints.relaxed(_rule({}), _rule({"policy": "testing.other"})) == "Constraint/tidy has the policy testing.other in place of testing.tidy"
	startswith(constraints.relaxed(_rule({}), _rule({"onParameterSelectionNoMatch": "deny"})), "Constraint/tidy is no longer valid: ")
}

test_a_constraint_that_only_counts_or_acts_more_demands_no_less if {
	not constraints.relaxed(_rule({"enforcementAction": "dryrun"}), null)
	not constraints.relaxed(_rule({"enforcementAction": "warn"}), _rule({}))
	not constraints.relaxed(_rule({}), _rule({"match": {"namespaces": ["shop"]}}))
}
