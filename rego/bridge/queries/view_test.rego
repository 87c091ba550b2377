# The queries of an OPA with the view of a Gateway, which also has the Gateway's class and Namespace.
package bridge.queries_test

import data.bridge.testing
import data.bridge.v1

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_view := {"name": "infra.public"}

_below := {"partial": true, "keys": {_gateway: true, testing.cart_route: true}}

_ask(query, query_input) := found if {
	found := v1[query] with input as object.union({"changes": {"upsert": testing.world}}, query_input)
		with data.objects as _stored
		with data.bridge_view as _view
		with data.bridge_below as _below
}

# Objects that are there without `changes`: then they are part of the view.
_stored := {
	"gateway.networking.k8s.io": {
		"Gateway": {"infra": {"public": {"kind": "Gateway"}}},
		"GatewayClass": {"-": {"example": {"kind": "GatewayClass"}}},
	},
	"core": {"Namespace": {"-": {"infra": {"kind": "Namespace"}}}},
}

test_object_that_is_in_the_view_in_part_is_an_error if {
	every key in {"core/Namespace/-/infra", "gateway.networking.k8s.io/GatewayClass/-/example", "core/Service/shop/elsewhere"} {
		_ask("effective", {"targets": [key]}).error.code == "NotInView"
		_ask("explain", {"target": key}).error.code == "NotInView"
		_ask("tree", {"root": key}).error.code == "NotInView"
	}
}

test_object_below_the_root_and_one_that_only_the_changes_have_are_answered if {
	is_array(_ask("effective", {"targets": [_gateway, testing.cart_route, concat("", [testing.cart_route, "#[0]"])]}))
}

test_request_to_another_gateway_is_an_error_and_without_a_gateway_searches_that_of_the_view if {
	_ask("request", {"host": "a", "gateway": "gateway.networking.k8s.io/Gateway/infra/other"}).error.code == "NotInView"
	not _ask("request", {"host": "a"}).error
}

test_view_without_gateways_has_no_listeners if {
	found := v1.request with input as {"host": "a"} with data.bridge_view as {"name": "shop"} with data.bridge_below as {"partial": true, "keys": {}}
	found.error == {"code": "NotInView", "message": "a Gateway is not in the view shop: ask an OPA whose view has it"}
}

test_problems_are_those_of_objects_in_the_view_and_of_policies_with_all_targets_there if {
	torn := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{"name": "all", "backendRefs": [{"name": "missing", "port": 80}]}])
	own := testing.color("shop", "own", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	torn_in_two := testing.color("infra", "both", 1, [testing.ref("Gateway", "public"), testing.ref("Gateway", "other")], {"theme": "dark"})
	changes := {"changes": {"upsert": array.concat([obj | some obj in testing.world; obj.kind != "HTTPRoute"], [torn, own, torn_in_two])}}
	found := _ask("problems", object.union(changes, {"objects": [testing.cart_route, "example.com/ColorPolicy/shop/own"]}))
	{problem.about | some problem in found} == {"core/Service/shop/missing"}
	every key in {"core/Namespace/-/infra", "gateway.networking.k8s.io/Gateway/infra/other", "example.com/ColorPolicy/infra/both"} {
		_ask("problems", object.union(changes, {"objects": [testing.cart_route, key]})).error.message == sprintf("%s is not in the view infra.public: ask an OPA whose view has it", [key])
	}
	listed := {problem.subject | some problem in _ask("problems", changes)}
	testing.cart_route in listed
	not "example.com/ColorPolicy/infra/both" in listed
}
