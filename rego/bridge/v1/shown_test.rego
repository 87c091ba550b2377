package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_marked_service := object.union(testing.service("cart", []), {
	"metadata": {"resourceVersion": "7"},
	"status": {"conditions": [{"type": "example.com/TimeoutPolicyAffected"}, {"type": "acme.io/Other"}]},
})

test_shown_is_each_objects_status_and_version if {
	asked := {"objects": ["core/Service/shop/cart", "core/Namespace/-/shop", "core/Service/shop/gone"]}
	found := v1.shown with input as asked
		with data.objects as testing.stored([_marked_service, testing.resource("v1", "Namespace", "", "shop")])
	found == {
		"core/Service/shop/cart": {"status": _marked_service.status, "resourceVersion": "7"},
		"core/Namespace/-/shop": {"status": {}, "resourceVersion": ""},
	}
}

# S4
test_marked_are_the_objects_that_show_a_condition_of_ours if {
	objects := [_marked_service, testing.policykind(testing.timeout_kind), testing.resource("v1", "Namespace", "", "shop")]
	kinds := v1.kinds_in_force with data.objects as testing.stored(objects)
	found := v1.marked with data.objects as testing.stored(objects) with data.kinds as kinds
	found == {"core/Service/shop/cart"}
}
