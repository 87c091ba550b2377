package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_own_frontend := "core/Service/shop/cart@frontend"

_parent_cart := {"group": "", "kind": "Service", "name": "cart", "namespace": "shop"}

_producer := testing.route("cart", [_parent_cart], [{"name": "pay", "backendRefs": [{"name": "cart"}]}])

_consumer_in(namespace) := object.union(_producer, {"metadata": {"namespace": namespace}})

_consumer_key := "gateway.networking.k8s.io/HTTPRoute/app/cart"

_consumed(objects) := {"changes": {"upsert": array.concat([testing.service("cart", [])], objects)}}

_producer_path := [_own_frontend, testing.cart_route]

_consumer_path := [_own_frontend, "core/Namespace/-/app", _consumer_key]

# P6
test_a_producers_route_counts_for_all_that_have_none_of_their_own if {
	counts := [found |
		some source in ["", "shop", "app", "blog"]
		found := _counts(_producer_path, source) with input as _consumed([_producer, _consumer_in("app")])
	]
	counts == [true, true, false, true]
}

# P6
test_a_consumers_route_counts_for_its_own_namespace_alone if {
	counts := [found |
		some source in ["", "shop", "app", "blog"]
		found := _counts(_consumer_path, source) with input as _consumed([_producer, _consumer_in("app")])
	]
	counts == [false, false, true, false]
}

# P6: one whose parentRef names a port that is not there replaces nothing.
test_a_consumers_route_that_does_not_count_replaces_nothing if {
	route := object.union(_consumer_in("app"), {"spec": {"parentRefs": [object.union(_parent_cart, {"port": 1})]}})
	_counts(_producer_path, "app") == true with input as _consumed([_producer, route])
}

test_what_has_no_frontend_counts_for_every_source if {
	hierarchy.counts_for(testing.cart_pay_path, "app")
	hierarchy.counts_for(testing.cart_pay_path, "")
	hierarchy.consumers(testing.cart_pay_path) == set()
}

test_consumers_are_the_namespaces_of_routes_for_another_namespaces_frontend if {
	hierarchy.consumers(_consumer_path) == {"app"}
	hierarchy.consumers(_producer_path) == set()
}

_counts(path, source) if {
	hierarchy.counts_for(path, source)
} else := false
