package bridge.status_test

import data.bridge.status
import data.bridge.testing

_tally(outcome, by, number, examples) := {
	"ancestor": "",
	"targets": [testing.cart_route],
	"outcome": outcome,
	"by": by,
	"count": number,
	"examples": examples,
}

_everywhere := _tally("Programmed", [], 2, ["a", "b"])

_nowhere := _tally("Overridden", ["shop/x (Atomic overrides)"], 1, ["c"])

_partly := _tally("PartiallyProgrammed", ["shop/x (Patch defaults)"], 5, ["d", "e", "f"])

_failed := _tally("Failed", ["513 policies meet here"], 1, ["g"])

_sample_outcomes := [
	[_everywhere],
	[_nowhere],
	[_partly],
	[_everywhere, _nowhere],
	[_nowhere, _partly],
	[_failed],
	[_failed, _nowhere],
	[_failed, _everywhere],
	[],
]

_outcome(fields, tallies) := condition if {
	others := [obj | some obj in testing.world; obj.metadata.name != "colorpolicy"]
	kind := testing.policykind(object.union(testing.color_kind, fields))
	conditions := status.outcome_conditions(_warm, tallies) with input as {"changes": {"upsert": array.concat(others, [kind, _policy])}}
	count(conditions) == 1
	condition := conditions[0]
}

# O4
test_the_outcomes_of_all_paths_make_one_condition if {
	conditions := [[condition.type, condition.status, condition.reason] |
		some tallies in _sample_outcomes
		condition := _outcome({}, tallies)
	]
	conditions == [
		["Programmed", "True", "Programmed"],
		["Programmed", "False", "Overridden"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "False", "Reconciling"],
		["Programmed", "False", "Reconciling"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "False", "NoScope"],
	]
}

# S2, GEP-713 of 2025, "Policy status"
test_the_set_of_2025_has_a_condition_type_for_each_outcome if {
	conditions := [[condition.type, condition.status, condition.reason] |
		some tallies in _sample_outcomes
		condition := _outcome({"conditions": "Enforced"}, tallies)
	]
	conditions == [
		["Enforced", "True", "Enforced"],
		["Overridden", "True", "Overridden"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["Enforced", "False", "Reconciling"],
		["Enforced", "False", "Reconciling"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["Enforced", "False", "NoScope"],
	]
	_outcome({"conditions": "Enforced"}, [_everywhere]).message == "Enforced on 2 scopes: a; b"
}

# S2
test_the_condition_types_of_both_sets_are_ours if {
	status.policy_types == {"Accepted", "Programmed", "Enforced", "PartiallyEnforced", "Overridden"}
}
