package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"

test_of_two_listeners_with_one_name_the_first_counts if {
	twice := testing.gateway("public", [testing.listener("http", 80), testing.listener("http", 81)])
	listeners := hierarchy.listeners(_gateway_key) with input as {"changes": {"upsert": [twice]}}
	listeners == [testing.listener("http", 80)]
}

test_a_listener_that_no_section_name_can_name_does_not_count if {
	odd := testing.gateway("public", [{"port": 80}, {"name": "a#b", "port": 80}, testing.listener("http", 80)])
	listeners := hierarchy.listeners(_gateway_key) with input as {"changes": {"upsert": [odd]}}
	listeners == [testing.listener("http", 80)]
}

test_the_class_is_above_the_gateway if {
	parents := hierarchy.parents(_gateway_key) with input as testing.changed([])
	parents == {"gateway.networking.k8s.io/GatewayClass/-/example"}
}

# P2
test_a_class_that_does_not_exist_is_left_out if {
	alone := testing.gateway("public", [])
	parents := hierarchy.parents(_gateway_key) with input as {"changes": {"upsert": [alone]}}
	parents == set()
}
