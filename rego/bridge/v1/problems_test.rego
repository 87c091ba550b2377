package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_problems_of_all_objects_or_of_some if {
	lost := testing.color("shop", "lost", 1, [], {"theme": "dark"})
	gone := testing.color("shop", "gone", 1, [testing.ref("HTTPRoute", "gone")], {"theme": "dark"})
	all := v1.problems with input as testing.changed([lost, gone])
	[[problem.subject, problem.reason] | some problem in all] == [
		["example.com/ColorPolicy/shop/gone", "TargetNotFound"],
		["example.com/ColorPolicy/shop/lost", "Invalid"],
	]
	some_of := v1.problems with input as _query_input([lost, gone], {"objects": ["example.com/ColorPolicy/shop/lost", "core/Service/shop/none"]})
	[problem.subject | some problem in some_of] == ["example.com/ColorPolicy/shop/lost"]
}

test_problems_of_no_keys_are_an_error if {
	found := v1.problems with input as _query_input([], {"objects": "all"})
	found.error.code == "InvalidInput"
}
