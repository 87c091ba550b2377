package bridge.topology_test

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.testing
import data.bridge.topology

_color := "example.com/ColorPolicy"

_roots(objects) := found if {
	found := topology.roots({_color, "example.com/TimeoutPolicy"}) with input as testing.changed(objects)
}

_node(objects, key) := found if {
	found := topology.node(key, {_color}) with input as testing.changed(objects)
}

test_a_node_tells_its_level_its_children_and_its_policies if {
	policy := testing.color("shop", "mine", 2, [testing.ref("HTTPRoute", "cart")], {})
	node := _node([policy], testing.cart_route)
	node.level == "Route"
	testing.cart_pay in node.children
	node.policies == [{"policy": "example.com/ColorPolicy/shop/mine", "policyKind": _color, "accepted": true}]
}

test_a_policy_that_is_being_deleted_does_not_count if {
	policy := testing.color("shop", "mine", 2, [testing.ref("HTTPRoute", "cart")], {})
	going := object.union(policy, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
	[[node.accepted, node.reason] | some node in _node([going], testing.cart_route).policies] == [[false, "Deleting"]]
}

test_a_policy_on_a_section_that_does_not_exist_is_rejected_at_the_object if {
	ref := object.union(testing.ref("HTTPRoute", "cart"), {"sectionName": "gone"})
	policy := testing.color("shop", "mine", 2, [ref], {})
	node := _node([policy], testing.cart_route)
	[[entry.accepted, entry.reason] | some entry in node.policies] == [[false, "TargetNotFound"]]
}

test_policies_of_other_kinds_are_left_out if {
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	_node([slow], "core/Service/shop/cart").policies == []
}

test_a_route_that_nothing_takes_is_a_root if {
	lost := testing.route("lost", [{"name": "gone"}], [])
	_roots([lost]) == {"gateway.networking.k8s.io/GatewayClass/-/example", "gateway.networking.k8s.io/HTTPRoute/shop/lost"}
}

test_a_service_that_no_object_names_is_not_in_the_picture if {
	_roots([testing.service("lonely", [])]) == {"gateway.networking.k8s.io/GatewayClass/-/example"}
}

test_route_with_a_bad_name_in_a_ref_redraws_keys_alone if {
	refs := [{"name": "../infra/gw"}]
	odd := testing.route("odd", refs, [{"backendRefs": refs}])
	found := topology.changed_entries({keys.of(odd)}, {}, {keys.of(odd)}) with input as testing.changed([odd])
	found == {keys.of(odd)}
}

_class_with(ref) := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "tuned"), {
	"controllerName": "example.com/gateway",
	"parametersRef": ref,
})

_gateway_with(ref) := object.union(testing.gateway("tuned", []), {"spec": {"infrastructure": {"parametersRef": ref}}})

_parameters(key, objects) := found if {
	found := topology._parameters_at(levels.of(key), key) with input as testing.changed(objects)
}

test_a_gatewayclass_and_a_gateway_have_parameters if {
	class_key := "gateway.networking.k8s.io/GatewayClass/-/tuned"
	gateway_key := "gateway.networking.k8s.io/Gateway/infra/tuned"
	cluster_scoped := {"group": "acme.io", "kind": "Tuning", "name": "big"}
	_parameters(class_key, [_class_with(cluster_scoped)]) == "acme.io/Tuning/-/big"
	_parameters(class_key, [_class_with(object.union(cluster_scoped, {"namespace": "infra"}))]) == "acme.io/Tuning/infra/big"
	_parameters(gateway_key, [_gateway_with({"group": "", "kind": "ConfigMap", "name": "big"})]) == "core/ConfigMap/infra/big"
}

test_a_node_of_the_tree_and_of_the_picture_has_its_parameters if {
	gateway := _gateway_with({"group": "", "kind": "ConfigMap", "name": "big"})
	key := "gateway.networking.k8s.io/Gateway/infra/tuned"
	_node([gateway], key).parameters == "core/ConfigMap/infra/big"
	entry := topology.entry(key) with input as testing.changed([gateway])
	entry.nodes[key].parameters == "core/ConfigMap/infra/big"
}

test_parameters_that_cannot_exist_are_left_out if {
	every ref in [{}, {"group": "", "kind": "ConfigMap", "name": "../big"}, {"group": "", "kind": 5, "name": "big"}, "big"] {
		not _has_parameters(ref)
	}
}

_has_parameters(ref) if _parameters("gateway.networking.k8s.io/Gateway/infra/tuned", [_gateway_with(ref)])

_gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"

_far := {"name": "public", "namespace": "infra"}

# The links of `node` that are ignored, in the fixtures' world with these objects.
_refused(objects, node) := [[link.parent, link.child, link.reason] | some link in links] if {
	links := topology.rejected_links({node}) with input as testing.changed(objects)
}

# The same of the fixtures' route where there are only these objects.
_refused_of(objects) := [[link.parent, link.child, link.reason] | some link in links] if {
	links := topology.rejected_links({testing.cart_route}) with input as {"changes": {"upsert": objects}}
}

test_a_link_that_does_not_count_is_reported_from_both_ends if {
	route := testing.route("lost", [object.union(_far, {"sectionName": "gone"})], [])
	expected := [[_gateway_key, "gateway.networking.k8s.io/HTTPRoute/shop/lost", "NoMatchingParent"]]
	_refused([route], "gateway.networking.k8s.io/HTTPRoute/shop/lost") == expected
	_refused([route], testing.listener_http) == expected
}

test_a_link_of_something_else_is_not_reported if {
	route := testing.route("lost", [{"name": "gone"}], [])
	_refused([route], testing.listener_http) == []
}

test_a_listener_that_does_not_take_a_route_is_no_matter_where_another_does if {
	tls := object.union(testing.listener("tls", 443), {"hostname": "*.example.com"})
	gateway := testing.gateway("public", [testing.listener("http", 80), tls])
	both := object.union(testing.route("cart", [_far], []), {"spec": {"hostnames": ["shop.org"]}})
	_refused_of([gateway, both]) == []
	named := [_far, object.union(_far, {"sectionName": "tls"})]
	query_input := object.union(testing.route("cart", named, []), {"spec": {"hostnames": ["shop.org"]}})
	_refused_of([gateway, query_input]) == [[sprintf("%s#tls", [_gateway_key]), testing.cart_route, "NoMatchingListenerHostname"]]
}

test_a_frontend_is_another_end_than_the_backend if {
	route := testing.route("mesh", [{"group": "", "kind": "Service", "name": "gone"}], [])
	expected := [["core/Service/shop/gone@frontend", "gateway.networking.k8s.io/HTTPRoute/shop/mesh", "ParentNotFound"]]
	_refused([route], "core/Service/shop/gone@frontend") == expected
	_refused([route], "core/Service/shop/gone") == []
}
