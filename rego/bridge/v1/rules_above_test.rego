package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_rules_above_a_backend_are_those_that_send_requests_to_it if {
	services := [testing.service(name, [{"name": "http", "port": 80}]) | some name in ["bank", "elsewhere"]]
	route := testing.route("bank", [], [{"name": "all", "backendRefs": [{"name": "bank", "port": 80}]}])
	found := v1.rules_above with input as object.union(
		testing.changed(array.concat(services, [route])),
		{"backends": ["core/Service/shop/bank", "core/Service/shop/elsewhere", testing.cart_route]},
	)
	found == {
		"core/Service/shop/bank": ["gateway.networking.k8s.io/HTTPRoute/shop/bank#all"],
		"core/Service/shop/elsewhere": [],
	}
}
