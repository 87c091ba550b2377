package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_service := testing.service_ref("cart")

_below(objects, fields) := found if {
	found := v1.policies_below with input as object.union(testing.changed(objects), fields)
}

_brief(entries) := [[entry.target, entry.policyKind, entry.paths[0].spec] | some entry in entries]

_timeouts := [
	testing.timeout("slow", 1, [_service], {"request": "9s"}),
	testing.timeout("admin", 2, [object.union(_service, {"sectionName": "admin"})], {"request": "1s"}),
]

test_policies_below_a_rule_are_those_at_the_ports_that_it_uses if {
	_brief(_below(_timeouts, {"target": testing.cart_pay})) == [["core/Service/shop/cart#http", "example.com/TimeoutPolicy", {"request": "9s"}]]
	_brief(_below(_timeouts, {"target": testing.cart_route})) == [
		["core/Service/shop/cart#admin", "example.com/TimeoutPolicy", {"request": "1s"}],
		["core/Service/shop/cart#http", "example.com/TimeoutPolicy", {"request": "9s"}],
	]
}

test_policies_below_have_fields_where_the_query_asks if {
	[found] := _below(_timeouts, {"target": testing.cart_pay, "fields": true})
	found.paths[0].fields == [{"field": "/request", "value": "9s", "policies": ["example.com/TimeoutPolicy/shop/slow"]}]
}

test_policies_below_leave_out_those_that_explain_has if {
	_below([testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"x": 1})], {"target": testing.cart_route}) == []
	_below(_timeouts, {"target": "core/Service/shop/cart"}) == []
}

test_policies_below_a_gateway_are_those_of_one_kind if {
	target := "gateway.networking.k8s.io/Gateway/infra/public"
	_below(_timeouts, {"target": target}) == []
	kind := object.union(testing.timeout_kind, {"kind": "TintPolicy", "targets": [{"group": testing.gateway_group, "kind": "HTTPRoute"}]})
	tint := testing.with_spec(testing.resource("example.com/v1", "TintPolicy", "shop", "tint"), {"targetRefs": [testing.ref("HTTPRoute", "cart")], "x": 1})
	objects := [testing.policykind(kind), tint]
	[entry.target | some entry in _below(objects, {"target": target, "policyKind": "example.com/TintPolicy"})] == [testing.cart_route]
}

test_policies_below_need_a_target_that_exists if {
	_below([], {"target": "core/Service/shop/gone"}).error.code == "TargetNotFound"
}
