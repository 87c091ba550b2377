package bridge.v1_test

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.scopes
import data.bridge.testing
import data.bridge.v1

_followed(objects, scopes, watched) := found if {
	found := v1.watch_results with input as _query_input(objects, {"scopes": scopes, "watched": watched})
}

_held := testing.color("shop", "one", 2, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})

test_what_is_below_a_watched_target_is_reported if {
	every watched in [testing.cart_pay, testing.cart_route, testing.listener_http, _gateway, "core/Namespace/-/shop"] {
		found := _followed([_held], {_color: [testing.cart_pay]}, [watched])
		[[entry.target, entry.policyKind, entry.watched] | some entry in found] == [[testing.cart_pay, _color, [watched]]]
		found[0].paths[0].spec == {"theme": "dark"}
	}
}

test_what_is_not_below_a_watched_target_is_not_reported if {
	other := "gateway.networking.k8s.io/Gateway/infra/public#alt"
	_followed([_held], {_color: [testing.cart_pay]}, [other, "core/Namespace/-/else", "core/Service/shop/cart"]) == []
}

test_a_target_without_a_policy_is_reported_without_paths if {
	found := _followed([], {_color: [testing.cart_pay]}, [_gateway])
	found[0].paths == []
}

test_deleted_objects_are_absent if {
	_followed([], {_color: ["gateway.networking.k8s.io/HTTPRoute/shop/gone#[0]"], "example.com/Nope": [testing.cart_pay]}, [_gateway]) == []
}

test_what_is_watched_must_be_keys if {
	_followed([], {_color: []}, ["x"]).error.code == "InvalidInput"
	_followed([], 3, [_gateway]).error.code == "InvalidInput"
}

# From the bottom and from the top it is the same.
test_under_agrees_with_scopes if {
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [{"backendRefs": [{"name": "cart", "port": 80}]}])
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	answers := _compared with input as _query_input([_held, mesh, slow], {})
	count(answers) == 30
	every answer in answers {
		answer[2] == answer[3]
	}
}

_compared := [[kind, node, scopes.scopes_at_or_below(kind, node), found] |
	nodes := _all_nodes
	some kind in kinds.names
	some node in nodes
	found := {scope | some scope in nodes; scopes.acts_at(kind, scope); scopes.is_within(kind, node, scope)}
]

_all_nodes := {node |
	some key in {
		"gateway.networking.k8s.io/GatewayClass/-/example", _gateway, testing.cart_route, "core/Service/shop/cart",
		"gateway.networking.k8s.io/HTTPRoute/shop/mesh", "core/Namespace/-/shop", "core/Namespace/-/infra",
	}
	some node in ({key} | hierarchy.sections(key))
} | {"core/Service/shop/cart@frontend"}
