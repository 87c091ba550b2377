package bridge.status_test

import data.bridge.status
import data.bridge.testing

# S4
test_policies_that_are_not_overridden_on_some_path_affect_target_and_effective_target if {
	policies := [
		_timeout([testing.service_ref("cart")]),
		testing.timeout("younger", 2, [testing.service_ref("cart")], {"request": "2s"}),
		testing.color("shop", "low", 1, [_cart_ref], {"theme": "dark"}),
		testing.color("shop", "high", 2, [_cart_ref], {"theme": "light"}),
		testing.color("infra", "wide", 3, [testing.ref("Gateway", "public")], {"overrides": {"shape": "round"}}),
		testing.color("infra", "other", 3, [testing.section_ref("Gateway", "public", "http")], {"theme": "grey"}),
	]
	acting := [found |
		some key in [_cart, testing.cart_route, _gateway_key, "core/Namespace/-/shop"]
		found := status.affecting_policies(key) with input as testing.changed(policies)
	]
	wide := {"example.com/ColorPolicy/infra/wide"}
	acting == [
		{"example.com/TimeoutPolicy": {"": {_slow}}},
		{"example.com/ColorPolicy": {json.marshal(_http_ref): wide}},
		{"example.com/ColorPolicy": {"": wide}},
		{},
	]
}

# S3
test_an_object_that_a_full_status_leaves_out_is_found_from_it if {
	others := [{"controllerName": "acme.io/other"} | some _ in numbers.range(1, 16)]
	full := object.union(_timeout([testing.service_ref("cart")]), {"status": {"ancestors": others}})
	found := [unreported |
		some key in [_cart, "core/Service/shop/other"]
		unreported := status.unreported_policies(key) with input as testing.changed([full, testing.service("other", [])])
	]
	found == [{"example.com/TimeoutPolicy": {"": {_slow}}}, {}]
}

# S3
test_a_gateway_that_a_full_status_leaves_out_is_found_from_the_nodes_below_it if {
	others := [obj | some obj in testing.world; not obj.kind in {"PolicyKind"}]
	filled := {"status": {"ancestors": [{"controllerName": "acme.io/other"} | some _ in numbers.range(1, 16)]}}
	kinds := [
		testing.policykind(object.union(testing.color_kind, {"statusShape": "Ancestors"})),
		testing.policykind(object.union(testing.timeout_kind, {"ancestorLevel": "Gateway"})),
	]
	policies := [
		object.union(testing.color("shop", "warm", 1, [_cart_ref], {"theme": "dark"}), filled),
		object.union(_timeout([testing.service_ref("cart")]), filled),
	]
	found := status.unreported_policies(_gateway_key) with input as {"changes": {"upsert": array.concat(others, array.concat(kinds, policies))}}
	found == {"example.com/ColorPolicy": {"": {_warm}}, "example.com/TimeoutPolicy": {"": {_slow}}}
}
