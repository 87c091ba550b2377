package bridge.v1_test

import data.bridge.v1

_affected_by(policies) := [condition.message |
	some condition in policies[0].conditions
	condition.type == "example.com/TimeoutPolicyAffected"
]

test_affected_computes_who_acts_or_is_reported if {
	objects := ["core/Service/shop/cart", "core/Service/shop/gone"]
	computed := v1.affected with input as _query_input([_slow], {"objects": objects})
	acting := {"core/Service/shop/cart": {"example.com/TimeoutPolicy": {"": ["example.com/TimeoutPolicy/shop/other"]}}}
	found := v1.affected with input as _query_input([_slow], {"objects": objects, "affectedBy": acting})
	[_affected_by(computed), _affected_by(found)] == [
		["Affected by TimeoutPolicy shop/slow"],
		["Affected by TimeoutPolicy shop/other"],
	]
	count(computed) == 1
}

test_affected_gets_what_full_statuses_leave_out_and_which_kinds_there_were if {
	found := v1.affected with input as _query_input([], {
		"objects": ["core/Service/shop/cart"],
		"affectedBy": {},
		"unreported": {"core/Service/shop/cart": {"example.com/TimeoutPolicy": {"": ["example.com/TimeoutPolicy/shop/slow"]}}},
		"former": [{"controllerName": "old.io/ctl", "kind": "OldPolicy"}],
	})
	[condition.type | some condition in found[0].conditions] == ["example.com/TimeoutPolicyNotReported"]
	"old.io/OldPolicyAffected" in found[0].types
	"old.io/ctl" in found[0].controllers
}

test_affected_refuses_what_is_not_a_list_of_keys if {
	found := v1.affected with input as {"objects": "x"}
	found.error.code == "InvalidInput"
}
