package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_dns := testing.service("dns", [{"name": "tcp", "port": 53, "protocol": "TCP"}, {"name": "udp", "port": 53, "protocol": "UDP"}, {"port": 80}])

test_sections_are_listeners_rules_and_ports if {
	sections := [nodes |
		some key in [_gateway_key, testing.cart_route, "core/Service/shop/cart", "core/Namespace/-/shop"]
		nodes := hierarchy.sections(key) with input as testing.changed([])
	]
	sections == [
		{sprintf("%s#http", [_gateway_key]), sprintf("%s#alt", [_gateway_key])},
		{testing.cart_pay, sprintf("%s#[1]", [testing.cart_route])},
		{"core/Service/shop/cart#http", "core/Service/shop/cart#admin"},
		set(),
	]
}

# K2, K3
test_a_section_has_one_canonical_key_whatever_its_spelling if {
	every row in [
		[testing.cart_route, testing.cart_route],
		[testing.cart_pay, testing.cart_pay],
		["gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]", testing.cart_pay],
		["gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]", "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"],
		["core/Service/shop/cart#80", "core/Service/shop/cart#http"],
		["core/Service/shop/cart#http", "core/Service/shop/cart#http"],
		["core/Service/shop/dns#80", "core/Service/shop/dns#80"],
		["core/Service/shop/dns#53", "core/Service/shop/dns#tcp"],
		["core/Service/shop/dns#udp", "core/Service/shop/dns#udp"],
	] {
		canonical := hierarchy.canonical_key(row[0]) with input as testing.changed([_dns])
		canonical == row[1]
	}
}

test_missing_objects_have_no_canonical_key if {
	every key in [
		"core/Service/shop/gone",
		"core/Service/shop/cart#gone",
		"core/Service/shop/cart#81",
		"core/Namespace/-/shop#x",
		"gateway.networking.k8s.io/HTTPRoute/shop/cart#[2]",
		"gateway.networking.k8s.io/Gateway/infra/public#[0]",
	] {
		not hierarchy.canonical_key(key) with input as testing.changed([])
	}
}

# K2: a port may be called like another's number.
test_a_name_wins_over_a_number if {
	service := testing.service("odd", [{"name": "81", "port": 80}, {"name": "web", "port": 81}])
	canonical := hierarchy.canonical_key("core/Service/shop/odd#81") with input as testing.changed([service])
	canonical == "core/Service/shop/odd#81"
}

test_an_objects_nodes_at_a_level_are_itself_or_its_sections if {
	nodes := [found |
		some level in ["Route", "Rule", "Backend"]
		found := hierarchy.nodes_at(testing.cart_route, level) with input as testing.changed([])
	]
	nodes == [{testing.cart_route}, {testing.cart_pay, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"}]
}

# P2
test_a_backend_that_does_not_exist_is_no_node if {
	not hierarchy.nodes_at("core/Service/shop/gone", "Backend") with input as testing.changed([])
}

test_an_object_of_another_kind_is_a_backend_only_where_a_rule_names_it if {
	files := testing.resource("acme.io/v1", "Bucket", "shop", "files")
	route := testing.route("files", [], [{"backendRefs": [{"group": "acme.io", "kind": "Bucket", "name": "files"}]}])
	hierarchy.has_place("acme.io/Bucket/shop/files") with input as testing.changed([files, route])
	not hierarchy.has_place("acme.io/Bucket/shop/files") with input as testing.changed([files])
	not hierarchy.has_place("acme.io/Bucket/shop/files") with input as testing.changed([route])
}

_virtual_kind := testing.policykind(object.union(
	testing.color_kind,
	{"kind": "FarPolicy", "targets": [{"group": "example.com", "kind": "Far", "virtual": true}]},
))

test_an_object_exists_where_it_is_held if {
	hierarchy.exists(testing.cart_route) with input as testing.changed([])
	not hierarchy.exists("core/Service/shop/gone") with input as testing.changed([])
}

test_of_a_virtual_type_any_name_exists if {
	hierarchy.exists("example.com/Far/shop/any") with input as testing.changed([_virtual_kind])
	not hierarchy.exists("example.com/Near/shop/any") with input as testing.changed([_virtual_kind])
}
