package bridge.effective_test

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.testing

_infra_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "Gateway")

_at_gateway := testing.far_ref("Gateway", "infra", "public")

_entry(name, node) := {"policy": sprintf("example.com/ColorPolicy/shop/%s", [name]), "target": node}

# F1, GEP-713 "Established and challenger policy specs"
test_the_established_one_stands_higher_then_is_older_then_comes_first_by_name if {
	policies := [
		testing.color("shop", "at-rule", 0, [testing.section_ref("HTTPRoute", "cart", "pay")], {}),
		testing.color("shop", "b", 2, [_cart_ref], {}),
		testing.color("shop", "c", 1, [_cart_ref], {}),
		testing.color("shop", "a", 2, [_cart_ref], {}),
		testing.color("shop", "at-gateway", 9, [_at_gateway], {}),
	]
	document := testing.changed(array.concat(policies, [_infra_grant]))
	stack := effective.stack("example.com/ColorPolicy", testing.cart_pay_path) with input as document
	stack == [
		_entry("at-gateway", "gateway.networking.k8s.io/Gateway/infra/public"),
		_entry("c", testing.cart_route),
		_entry("a", testing.cart_route),
		_entry("b", testing.cart_route),
		_entry("at-rule", testing.cart_pay),
	]
}

# P4
test_a_policy_at_two_places_of_a_path_takes_part_at_both if {
	policy := testing.color("shop", "warm", 1, [_at_gateway, _cart_ref], {})
	stack := effective.stack("example.com/ColorPolicy", testing.cart_pay_path) with input as testing.changed([policy, _infra_grant])
	stack == [_entry("warm", "gateway.networking.k8s.io/Gateway/infra/public"), _entry("warm", testing.cart_route)]
}

test_an_inherited_kinds_paths_run_through_the_hierarchy if {
	paths := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([])
	paths == {testing.cart_pay_path}
}

# C2
test_a_direct_kinds_path_is_its_target_alone if {
	paths := [found |
		some node in ["core/Service/shop/cart", "core/Service/shop/cart#http"]
		found := hierarchy.kind_paths("example.com/TimeoutPolicy", node) with input as testing.changed([])
	]
	paths == [{["core/Service/shop/cart"]}, {["core/Service/shop/cart", "core/Service/shop/cart#http"]}]
}

# P3
test_paths_name_namespaces_for_kinds_that_may_target_them if {
	kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule"})
	paths := hierarchy.kind_paths("example.com/ZonePolicy", testing.cart_pay) with input as testing.changed([kind])
	paths == {[
		"gateway.networking.k8s.io/GatewayClass/-/example",
		"core/Namespace/-/infra",
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.listener_http,
		"core/Namespace/-/shop",
		testing.cart_route,
		testing.cart_pay,
	]}
}
