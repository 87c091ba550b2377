package bridge.topology_test

import data.bridge.lib.keys
import data.bridge.testing
import data.bridge.topology

_color := "example.com/ColorPolicy"

_roots(objects) := found if {
	found := topology.roots({_color, "example.com/TimeoutPolicy"}) with input as testing.changed(objects)
}

_node(objects, key) := found if {
	found := topology.node(key, {_color}) with input as testing.changed(objects)
}

test_a_node_tells_its_level_its_children_and_its_policies if {
	policy := testing.color("shop", "mine", 2, [testing.ref("HTTPRoute", "cart")], {})
	node := _node([policy], testing.cart_route)
	node.level == "Route"
	testing.cart_pay in node.children
	node.policies == [{"policy": "example.com/ColorPolicy/shop/mine", "policyKind": _color, "accepted": true}]
}

test_a_policy_that_is_being_deleted_does_not_count if {
	policy := testing.color("shop", "mine", 2, [testing.ref("HTTPRoute", "cart")], {})
	going := object.union(policy, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
	[[node.accepted, node.reason] | some node in _node([going], testing.cart_route).policies] == [[false, "Deleting"]]
}

test_policies_of_other_kinds_are_left_out if {
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	_node([slow], "core/Service/shop/cart").policies == []
}

test_a_route_that_nothing_takes_is_a_root if {
	lost := testing.route("lost", [{"name": "gone"}], [])
	_roots([lost]) == {"gateway.networking.k8s.io/GatewayClass/-/example", "gateway.networking.k8s.io/HTTPRoute/shop/lost"}
}

test_a_service_that_no_object_names_is_not_in_the_picture if {
	_roots([testing.service("lonely", [])]) == {"gateway.networking.k8s.io/GatewayClass/-/example"}
}

test_route_with_a_bad_name_in_a_ref_redraws_keys_alone if {
	refs := [{"name": "../infra/gw"}]
	odd := testing.route("odd", refs, [{"backendRefs": refs}])
	found := topology.changed_entries({keys.of(odd)}, {}, {keys.of(odd)}) with input as testing.changed([odd])
	found == {keys.of(odd)}
}
