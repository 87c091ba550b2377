package bridge.v1_test

import data.bridge.v1

_neighbors(key, more) := found if {
	found := v1.neighbors with input as object.union({"keys": [key]}, more) with data.objects as {} with data.index as {}
}

_neighboring_route := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "cart", "namespace": "shop"},
	"spec": {
		"parentRefs": [{"name": "public", "namespace": "infra"}],
		"rules": [{"backendRefs": [{"name": "cart", "port": 80}]}],
	},
}

test_route_is_a_neighbor_of_its_gateway_and_of_its_backend_though_neither_exists if {
	changes := {"changes": {"upsert": [_neighboring_route]}}
	route := "gateway.networking.k8s.io/HTTPRoute/shop/cart"
	route in _neighbors("gateway.networking.k8s.io/Gateway/infra/public", changes)
	route in _neighbors("core/Service/shop/cart", changes)
	not route in _neighbors("core/Service/shop/basket", changes)
}

test_a_grant_has_the_objects_on_both_sides_of_what_it_allows_as_neighbors if {
	rules := [{"backendRefs": [{"name": "stock", "namespace": "blog", "port": 80}, {"name": "cart", "port": 80}]}]
	far := object.union(_neighboring_route, {"spec": {"rules": rules}})
	grant := "gateway.networking.k8s.io/ReferenceGrant/blog/grant"
	_neighbors(grant, {"changes": {"upsert": [far]}}) == [
		"core/Service/blog/stock",
		"gateway.networking.k8s.io/HTTPRoute/shop/cart",
	]
}

test_keys_that_are_not_a_list_are_an_error if {
	answer := v1.neighbors with input as {"keys": 5}
	answer.error.code == "InvalidInput"
}
