package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_tree(objects, fields) := found if {
	found := v1.tree with input as _query_input(objects, fields)
}

test_the_tree_starts_at_nodes_without_parents if {
	lonely := testing.service("lonely", [{"name": "http", "port": 80}])
	found := _tree([lonely], {})
	found.roots == ["gateway.networking.k8s.io/GatewayClass/-/example"]
	count(found.nodes) == 10
}

test_a_policy_makes_its_lonely_target_a_root if {
	lonely := testing.service("lonely", [{"name": "http", "port": 80}])
	slow := testing.timeout("slow", 1, [testing.service_ref("lonely")], {"request": "1s"})
	_tree([lonely, slow], {}).roots == ["core/Service/shop/lonely", "gateway.networking.k8s.io/GatewayClass/-/example"]
}

test_a_node_tells_its_policies_and_whether_they_count if {
	gone := testing.color("shop", "gone", 2, [testing.section_ref("HTTPRoute", "cart", "pay"), testing.ref("HTTPRoute", "none")], {})
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	found := _tree([gone, far], {"root": "gateway.networking.k8s.io/Gateway/infra/public"})
	found.nodes[testing.cart_pay].policies == [{"policy": "example.com/ColorPolicy/shop/gone", "policyKind": _color, "accepted": true}]
	[[policy.accepted, policy.reason] |
		some policy in found.nodes["gateway.networking.k8s.io/Gateway/infra/public"].policies
	] == [[false, "TargetNotFound"]]
}

test_a_namespace_with_policies_is_in_the_tree_beside_its_members if {
	held := testing.color("shop", "all", 2, [{"group": "", "kind": "Namespace", "name": "shop"}], {})
	wide := testing.policykind(object.union(testing.color_kind, {"targets": [{"group": "", "kind": "Namespace"}]}))
	others := [obj | some obj in testing.world; obj.metadata.name != wide.metadata.name]
	found := v1.tree with input as {
		"root": testing.cart_route,
		"changes": {"upsert": array.concat(others, [wide, held])},
	}
	found.nodes[testing.cart_route].namespace == "core/Namespace/-/shop"
	found.nodes["core/Namespace/-/shop"].level == "Namespace"
}

test_depth_bounds_the_tree if {
	found := _tree([], {"root": "gateway.networking.k8s.io/Gateway/infra/public", "depth": 1})
	count(found.nodes) == 3
	found.nodes[testing.listener_http].children == [testing.cart_route]
}

test_a_bad_root_is_an_error if {
	every row in [
		[{"root": 3}, "InvalidInput"],
		[{"root": "Service/cart"}, "InvalidInput"],
		[{"root": "core/Service/shop/gone"}, "TargetNotFound"],
		[{"depth": 16}, "InvalidInput"],
		[{"depth": "all"}, "InvalidInput"],
		[{"policyKind": "example.com/Foo"}, "UnknownPolicyKind"],
	] {
		_tree([], row[0]).error.code == row[1]
	}
}

test_links_that_do_not_count_are_reported_where_they_are_requested if {
	lost := testing.route("lost", [{"name": "gone"}], [])
	not "refused" in object.keys(_tree([lost], {}))
	[link.reason | some link in _tree([lost], {"refused": true}).refused] == ["ParentNotFound"]
}
