package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_service := "core/Service/shop/cart"

test_a_rules_backends_come_with_the_ports_that_it_names if {
	backends := hierarchy.rule_backends(testing.cart_route) with input as testing.changed([])
	backends == {testing.cart_pay: {_service: {80}}, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]": {_service: {9090}}}
}

test_two_rules_of_one_name_keep_their_backends_apart if {
	route := testing.route("cart", [], [
		{"name": "a", "backendRefs": [{"name": "cart", "port": 80}]},
		{"name": "a", "backendRefs": [{"name": "catalog"}, {"name": "cart", "port": 1}, {"name": "cart", "port": 2}]},
	])
	backends := hierarchy.rule_backends(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	backends == {
		"gateway.networking.k8s.io/HTTPRoute/shop/cart#a": {_service: {80}},
		"gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]": {_service: {1, 2}, "core/Service/shop/catalog": set()},
	}
}

test_a_backend_of_another_namespace_needs_a_grant if {
	route := testing.route("cart", [], [{"name": "pay", "backendRefs": [{"name": "bank", "namespace": "payments"}]}])
	grant := testing.grant("payments", "gateway.networking.k8s.io", "HTTPRoute", "shop", "", "Service")
	refused := hierarchy.rule_backends(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	granted := hierarchy.rule_backends(testing.cart_route) with input as {"changes": {"upsert": [route, grant]}}
	refused == {testing.cart_pay: {}}
	granted == {testing.cart_pay: {"core/Service/payments/bank": set()}}
}

test_the_rules_that_name_a_backend_are_above_it if {
	parents := hierarchy.parents(_service) with input as testing.changed([])
	parents == {testing.cart_pay, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"}
}

test_a_port_is_reached_only_through_rules_that_name_its_number if {
	paths := hierarchy.paths("core/Service/shop/cart#http", false) with input as testing.changed([])
	paths == {array.concat(testing.cart_pay_path, [_service, "core/Service/shop/cart#http"])}
}

# P2
test_a_port_that_no_rule_names_starts_at_its_service if {
	service := testing.service("other", [{"name": "http", "port": 80}])
	paths := hierarchy.paths("core/Service/shop/other#http", false) with input as testing.changed([service])
	paths == {["core/Service/shop/other", "core/Service/shop/other#http"]}
}

test_of_two_ports_of_one_name_both_numbers_are_reached if {
	service := testing.service("cart", [{"name": "x", "port": 79}, {"name": "x", "port": 80}])
	others := [obj | some obj in testing.world; obj.kind != "Service"]
	paths := hierarchy.paths("core/Service/shop/cart#x", false) with input as {"changes": {"upsert": array.concat(others, [service])}}
	paths == {array.concat(testing.cart_pay_path, [_service, "core/Service/shop/cart#x"])}
}

# K2
test_a_port_has_its_name_or_else_its_number if {
	service := testing.service("cart", [{"name": "http", "port": 80}, {"port": 81}, {"name": "", "port": 82}, {"name": null, "port": 83}])
	names := hierarchy.port_names(_service) with input as {"changes": {"upsert": [service]}}
	names == ["http", "81", "82", "83"]
}

# K2: each port has a name that can stand in a key, whatever a manifest holds.
test_a_port_that_has_neither_name_nor_number_goes_by_its_place if {
	names := hierarchy.port_names("core/Service/shop/odd") with input as testing.changed([testing.service(
		"odd",
		[{"port": ""}, {"name": "a#b", "port": 80}, {}, {"name": "web", "port": "x"}],
	)])
	names == ["[0]", "80", "[2]", "web"]
}

test_backend_with_a_bad_name_leaves_the_other_backends_of_its_rule if {
	route := testing.route("cart", [], [{"name": "pay", "backendRefs": [{"name": "../infra/gw"}, {"name": "cart", "port": 80}]}])
	backends := hierarchy.rule_backends(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	backends == {testing.cart_pay: {_service: {80}}}
}

_granted(grant, target) if {
	hierarchy.is_granted("example.com/ColorPolicy/shop/warm", target) with input as {"changes": {"upsert": [grant]}}
} else := false

# Gateway API, ReferenceGrant.
test_a_grant_lets_a_kind_of_a_namespace_name_a_kind if {
	target := "gateway.networking.k8s.io/Gateway/infra/public"
	to := "gateway.networking.k8s.io"
	every row in [
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", to, "Gateway"), true],
		[testing.grant("infra", "example.com", "ColorPolicy", "blog", to, "Gateway"), false],
		[testing.grant("infra", "example.com", "TimeoutPolicy", "shop", to, "Gateway"), false],
		[testing.grant("infra", "", "ColorPolicy", "shop", to, "Gateway"), false],
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", to, "HTTPRoute"), false],
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", "", "Gateway"), false],
		[testing.grant("shop", "example.com", "ColorPolicy", "shop", to, "Gateway"), false],
	] {
		[grant, wanted] := row
		_granted(grant, target) == wanted
	}
}

test_a_grant_may_be_for_one_name if {
	named := json.patch(
		testing.grant("infra", "example.com", "ColorPolicy", "shop", "", "Service"),
		[{"op": "add", "path": "/spec/to/0/name", "value": "cart"}],
	)
	_granted(named, "core/Service/infra/cart")
	not _granted(named, "core/Service/infra/catalog") == true
}

# A route with these backendRefs, and a Service and a Bucket with the name of the ref.
_referring(ref) := {"changes": {"upsert": [
	testing.route("cart", [], [{"name": "pay", "backendRefs": [ref]}]),
	testing.service("cart", [{"name": "http", "port": 80}]),
	testing.resource("example.com/v1", "Bucket", "shop", "cart"),
]}}

test_service_without_a_port_number_in_its_ref_gets_no_requests if {
	above := hierarchy.parents(_service) with input as _referring({"name": "cart"})
	links := hierarchy.rejected_backends(testing.cart_route, _service) with input as _referring({"name": "cart"})
	above == set()
	{link.reason | some link in links} == {"PortNotSpecified"}
}

test_ref_of_another_kind_needs_no_port_number if {
	above := hierarchy.parents("example.com/Bucket/shop/cart") with input as _referring({"group": "example.com", "kind": "Bucket", "name": "cart"})
	above == {testing.cart_pay}
}

# `core` is the text form of the group "" in keys only.
test_ref_with_the_group_core_names_no_service if {
	links := hierarchy.rejected_above("core./Service/shop/cart") with input as _referring({"group": "core", "kind": "Service", "name": "cart", "port": 80})
	[[link.reason, link.message] | some link in links] == [["BackendNotFound", "Service/shop/cart of a group core does not exist"]]
}

_permits(to_group) if {
	route := testing.route("cart", [], [{"name": "pay", "backendRefs": [{"name": "bank", "namespace": "payments", "port": 80}]}])
	grant := testing.grant("payments", "gateway.networking.k8s.io", "HTTPRoute", "shop", to_group, "Service")
	hierarchy.backend_permitted(testing.cart_route, "core/Service/payments/bank") with input as {"changes": {"upsert": [route, grant]}}
}

test_grant_from_a_group_with_a_version_permits_nothing if {
	route := testing.route("cart", [], [{"name": "pay", "backendRefs": [{"name": "bank", "namespace": "payments", "port": 80}]}])
	every group, permitted in {"gateway.networking.k8s.io": true, "gateway.networking.k8s.io/v1": false} {
		grant := testing.grant("payments", group, "HTTPRoute", "shop", "", "Service")
		found := {true | hierarchy.backend_permitted(testing.cart_route, "core/Service/payments/bank")} with input as {"changes": {"upsert": [route, grant]}}
		found == {true | permitted}
	}
}

test_grant_to_the_group_core_permits_no_service if {
	_permits("")
	not _permits("core")
}
