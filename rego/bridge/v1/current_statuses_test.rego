package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_marked_service := object.union(testing.service("cart", []), {
	"metadata": {"resourceVersion": "7", "annotations": {"a": "b"}},
	"status": {"conditions": [{"type": "example.com/TimeoutPolicyAffected"}, {"type": "acme.io/Other"}]},
})

test_shown_is_each_objects_status_annotations_and_version if {
	query_input := {"objects": ["core/Service/shop/cart", "core/Namespace/-/shop", "core/Service/shop/gone"]}
	found := v1.current_statuses with input as query_input
		with data.objects as testing.stored([_marked_service, testing.resource("v1", "Namespace", "", "shop")])
	found == {
		"core/Service/shop/cart": {"status": _marked_service.status, "annotations": {"a": "b"}, "resourceVersion": "7"},
		"core/Namespace/-/shop": {"status": {}, "annotations": {}, "resourceVersion": ""},
	}
}

_marked(former) := found if {
	conditions := [{"type": "example.com/TimeoutPolicyAffected"}]
	objects := [
		_marked_service,
		testing.policykind(testing.timeout_kind),
		testing.resource("v1", "Namespace", "", "shop"),
		object.union(testing.route("cart", [], []), {"status": {"parents": [{"conditions": conditions}]}}),
		object.union(testing.gateway("public", []), {"status": {"listeners": [{"conditions": conditions}]}}),
		object.union(testing.service("stock", []), {"metadata": {"annotations": {"old.io/OldPolicyAffected": "true"}}}),
	]
	kinds := v1.kinds_in_force with data.objects as testing.stored(objects)
	found := v1.marked_objects with data.objects as testing.stored(objects) with data.kinds as kinds with input as {"former": former}
}

# S4
test_marked_are_the_objects_that_show_something_of_ours_in_any_place if {
	_marked([]) == {
		"core/Service/shop/cart",
		"gateway.networking.k8s.io/HTTPRoute/shop/cart",
		"gateway.networking.k8s.io/Gateway/infra/public",
	}
}

# S4
test_marked_are_also_objects_that_show_something_of_a_kind_that_was if {
	"core/Service/shop/stock" in _marked([{"controllerName": "old.io/ctl", "kind": "OldPolicy"}])
}
