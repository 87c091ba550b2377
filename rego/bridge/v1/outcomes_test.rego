package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_outcomes_are_rows_for_each_effective_target_that_there_is if {
	targets := [testing.cart_pay, testing.cart_route, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]", "core/Service/shop/gone"]
	found := v1.outcomes with input as _query_input([_warm], {"policyKind": _color, "targets": targets})
	found == {testing.cart_pay: [{
		"policy": _warm_key,
		"targets": [testing.cart_route],
		"ancestor": "",
		"outcome": "Programmed",
		"by": [],
		"scope": "Gateway infra/public#http > HTTPRoute shop/cart#pay",
		"marks": [[testing.cart_route, json.marshal({"name": "public", "namespace": "infra", "sectionName": "http"})]],
	}]}
}
