package bridge.outcomes_test

import data.bridge.outcomes
import data.bridge.testing

_ancestor(fields) := found if {
	kinds := {"example.com/ColorPolicy": object.union({"statusShape": "Ancestors", "ancestorLevel": "Gateway"}, fields)}
	ancestors := outcomes.ancestors("example.com/ColorPolicy", testing.cart_pay_path, [testing.cart_pay]) with data.kinds as kinds
	count(ancestors) == 1
	some found in ancestors
}

# S3
test_the_ancestor_is_the_paths_node_at_its_level_or_the_target if {
	ancestors := [_ancestor(fields) |
		some fields in [{}, {"ancestorLevel": "Route"}, {"ancestorLevel": "Port"}, {"ancestorLevel": "Target"}, {"statusShape": "Conditions"}]
	]
	ancestors == [
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.cart_route,
		testing.cart_pay,
		testing.cart_pay,
		"",
	]
}

_tls_kind(level) := testing.policykind({
	"group": "acme.io",
	"kind": "TlsPolicy",
	"class": "Direct",
	"statusShape": "Ancestors",
	"ancestorLevel": level,
})

_direct_ancestors(path, target, level) := found if {
	found := outcomes.ancestors("acme.io/TlsPolicy", path, [target]) with input as testing.changed([
		_tls_kind(level),
		testing.gateway("second", [testing.listener("http", 80)]),
		testing.gateway("third", [testing.listener("http", 80)]),
		testing.route(
			"both",
			[{"name": "second", "namespace": "infra"}, {"name": "third", "namespace": "elsewhere"}],
			[{"backendRefs": [{"name": "cart", "port": 80}]}],
		),
		testing.service("idle", []),
	])
}

_first_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_second_gateway := "gateway.networking.k8s.io/Gateway/infra/second"

# S3
test_the_ancestors_of_a_direct_kinds_target_are_those_above_it_by_links_that_count if {
	cart := "core/Service/shop/cart"
	idle := "core/Service/shop/idle"
	every row in [
		[[cart], cart, "Gateway", {_first_gateway, _second_gateway}],
		[[cart, "core/Service/shop/cart#http"], cart, "Gateway", {_first_gateway, _second_gateway}],
		[[cart, "core/Service/shop/cart#admin"], "core/Service/shop/cart#admin", "Gateway", {_first_gateway}],
		[[cart], cart, "Target", {cart}],
		[[idle], idle, "Gateway", {idle}],
		[[_first_gateway], _first_gateway, "Gateway", {_first_gateway}],
	] {
		_direct_ancestors(row[0], row[1], row[2]) == row[3]
	}
}

# S3
test_a_port_that_nothing_leads_to_has_the_ancestors_of_its_service if {
	path := ["core/Service/shop/cart", "core/Service/shop/cart#spare"]
	spare := testing.service("cart", [{"name": "http", "port": 80}, {"name": "spare", "port": 7070}])
	others := [obj | some obj in testing.world; not obj.kind == "Service"]
	found := outcomes.ancestors("acme.io/TlsPolicy", path, [path[0]]) with input as {"changes": {"upsert": array.concat(others, [spare, _tls_kind("Gateway")])}}
	found == {_first_gateway}
}

# S1
test_a_scope_is_named_by_the_nodes_that_say_something if {
	names := [name |
		some path in [
			testing.cart_pay_path,
			array.slice(testing.cart_pay_path, 0, 4),
			array.concat(["core/Namespace/-/shop"], [testing.cart_route]),
			[testing.cart_route, testing.cart_pay],
			array.concat(testing.cart_pay_path, ["core/Service/shop/cart", "core/Service/shop/cart#http"]),
		]
		name := outcomes.scope_name(path)
	]
	names == [
		"Gateway/infra/public#http > HTTPRoute/shop/cart#pay",
		"Gateway/infra/public#http > HTTPRoute/shop/cart",
		"HTTPRoute/shop/cart",
		"HTTPRoute/shop/cart#pay",
		"Gateway/infra/public#http > HTTPRoute/shop/cart#pay > Service/shop/cart#http",
	]
}

# S1
test_kinds_of_other_groups_are_named_with_their_group if {
	outcomes.node_name("serving.example.com/Service/shop/cart#http") == "Service.serving.example.com/shop/cart#http"
	outcomes.node_name("core/Service/shop/cart") == "Service/shop/cart"
	outcomes.node_name("gateway.networking.k8s.io/GatewayClass/-/main") == "GatewayClass/main"
}
