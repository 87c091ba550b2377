package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_service_selecting(name, selector) := object.union(testing.resource("v1", "Service", "shop", name), {"spec": {"selector": selector}})

_pod := object.union(testing.resource("v1", "Pod", "shop", "cart-0"), {"metadata": {"labels": {"app": "cart", "tier": "web"}}})

_deployment := object.union(
	testing.resource("apps/v1", "Deployment", "shop", "cart"),
	{"spec": {"template": {"metadata": {"labels": {"app": "cart"}}}}},
)

test_services_select_a_workload_by_all_labels if {
	services := [_service_selecting("cart", {"app": "cart"}), _service_selecting("web", {"app": "cart", "tier": "web"}), _service_selecting("all", {})]
	keys := ["core/Pod/shop/cart-0", "apps/Deployment/shop/cart"]
	found := v1.selecting_services with input as {
		"workloads": keys,
		"changes": {"upsert": array.concat(services, [_pod, _deployment])},
	}
	found == {
		"core/Pod/shop/cart-0": ["core/Service/shop/cart", "core/Service/shop/web"],
		"apps/Deployment/shop/cart": ["core/Service/shop/cart"],
	}
}
