package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_traces_are_by_object_and_only_of_those_that_have_any if {
	old := {"kind": "OldPolicy", "controllerName": "old.io/ctl"}
	marked := object.union(testing.service("cart", []), {"status": {"conditions": [{"type": "old.io/OldPolicyAffected"}]}})
	query_input := {"objects": [marked, testing.service("stock", [])], "former": [old], "manager": "policy-bridge"}
	v1.traces == {"core/Service/shop/cart": {"types": {"old.io/OldPolicyAffected"}}} with input as query_input
}
