package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_at_public := [{"name": "public", "namespace": "infra"}]

_route_to(name, service) := testing.route(name, _at_public, [{"backendRefs": [{"name": service, "port": 80}]}])

_key_of_route(name) := sprintf("gateway.networking.k8s.io/HTTPRoute/shop/%s", [name])

_versions := [{"apiVersion": "example.com/v1", "kind": "ColorPolicy"}, {"apiVersion": testing.gateway_api, "kind": "HTTPRoute"}]

# The slice for the route of the fixtures. OPA has `objects` too, and lacks `withheld`.
_slice(objects, withheld) := found if {
	found := v1.slice with input as object.union(testing.changed(objects), {
		"targets": [testing.cart_route],
		"objects": withheld,
		"withheld": _versions,
	})
}

test_slice_has_the_routes_of_shared_backends if {
	found := _slice([], [_route_to("shared", "cart"), _route_to("other", "catalog")])
	found.read == [testing.cart_route, _key_of_route("shared")]
	found.names == ["core/Service/shop/cart", testing.cart_route, _key_of_route("shared")]
}

test_slice_has_routes_with_a_backend_as_frontend if {
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [])
	_key_of_route("mesh") in _slice([], [mesh]).read
}

test_slice_has_policies_of_its_routes_and_their_other_targets if {
	both := testing.color("shop", "both", 1, [testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "far")], {})
	other := testing.color("shop", "other", 1, [testing.ref("HTTPRoute", "elsewhere")], {})
	found := _slice([], [both, other, _route_to("far", "catalog"), _route_to("elsewhere", "stock")])
	found.read == ["example.com/ColorPolicy/shop/both", testing.cart_route, _key_of_route("far")]
}

test_slice_has_the_routes_of_policies_that_target_gateways_too if {
	wide := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public"), testing.far_ref("HTTPRoute", "shop", "far")], {})
	_key_of_route("far") in _slice([wide], [_route_to("far", "catalog")]).read
}

test_slice_is_everything_where_policies_select_by_labels if {
	by_labels := testing.color("shop", "all", 1, [], {"targetSelectors": [{"group": testing.gateway_group, "kind": "HTTPRoute"}]})
	_slice([by_labels], []) == null
	_slice([], []) != null
}

test_slice_is_everything_for_other_targets_and_for_policies_that_are_reported if {
	gateway := v1.slice with input as object.union(testing.changed([]), {"targets": ["gateway.networking.k8s.io/Gateway/infra/public"], "objects": [], "withheld": []})
	gateway == null
	undescribed := v1.slice with input as object.union(testing.changed([]), {
		"targets": [testing.cart_route],
		"objects": [],
		"withheld": [{"apiVersion": "example.com/v1", "kind": "UnknownPolicy"}],
	})
	undescribed == null
}

# The slice for an input beside the routes that OPA has: all routes below a Gateway and its ListenerSets.
_slice_for(question, objects, withheld) := found if {
	found := v1.slice with input as object.union_n([
		testing.changed(objects),
		{"objects": withheld, "withheld": _versions},
		question,
	])
}

_at_set := testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "at-set")

_more := object.union(testing.resource("gateway.networking.k8s.io/v1", "ListenerSet", "infra", "more"), {"spec": {
	"parentRef": {"name": "public"},
	"listeners": [{"name": "web", "port": 81, "protocol": "HTTP"}],
}})

_of_set := object.union(_at_set, {"spec": {"parentRefs": [{"kind": "ListenerSet", "name": "more", "namespace": "infra"}], "rules": []}})

_key_of_wide := "example.com/ColorPolicy/infra/wide"

test_slice_for_a_policy_of_a_gateway_has_the_routes_of_its_listener_sets if {
	wide := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public")], {})
	first := _slice_for({"targets": [_key_of_wide]}, [wide, _more], [])
	"gateway.networking.k8s.io/ListenerSet/infra/more" in first.names
	next := _slice_for({"targets": [_key_of_wide], "from": first.names}, [wide, _more], [_of_set])
	_key_of_route("at-set") in next.read
}

test_slice_for_the_problems_of_a_route_has_the_other_routes_of_its_gateways if {
	other := _route_to("other", "stock")
	found := _slice_for({"targets": [testing.cart_route]}, [], [other])
	testing.cart_route in found.read
	not _key_of_route("other") in found.read
	_key_of_route("other") in _slice_for({"subjects": [testing.cart_route]}, [], [other]).read
}

test_slice_is_everything_for_problems_where_constraints_may_judge_any_object if {
	constraint := testing.resource("policybridge.io/v1alpha1", "Constraint", "-", "any")
	_slice_for({"subjects": [testing.cart_route]}, [constraint], []) == null
	_slice_for({"targets": [testing.cart_route]}, [constraint], []) != null
}

test_only_routes_and_policies_that_name_routes_are_withheld if {
	v1.withheld.refs == ["targetRefs", "targetRef", "targetReference"]
	v1.withheld.selectors == ["targetSelectors"]
	"gateway.networking.k8s.io/HTTPRoute" in v1.withheld.types
	not "gateway.networking.k8s.io/Gateway" in v1.withheld.types
}
