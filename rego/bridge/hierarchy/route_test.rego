package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_parents(parent_refs, hostnames) := parents if {
	parents := hierarchy.parents(testing.cart_route) with input as {"changes": {"upsert": [
		testing.resource("gateway.networking.k8s.io/v1", "GatewayClass", "", "example"),
		testing.gateway("public", [
			testing.listener("http", 80),
			object.union(testing.listener("tls", 443), {"hostname": "*.example.com"}),
		]),
		object.union(testing.route("cart", parent_refs, []), {"spec": {"hostnames": hostnames}}),
	]}}
}

_to(fields) := object.union({"name": "public", "namespace": "infra"}, fields)

_http := "gateway.networking.k8s.io/Gateway/infra/public#http"

_tls := "gateway.networking.k8s.io/Gateway/infra/public#tls"

# Gateway API, Route parentRefs.
test_a_parent_ref_selects_listeners_by_section_name_port_and_hostname if {
	every row in [
		[_to({}), [], {_http, _tls}],
		[_to({"sectionName": "tls"}), [], {_tls}],
		[_to({"port": 80}), [], {_http}],
		[_to({"sectionName": "tls", "port": 80}), [], set()],
		[_to({}), ["SHOP.example.com"], {_http, _tls}],
		[_to({}), ["shop.example.org"], {_http}],
		[_to({"name": "other"}), [], set()],
		[{"name": "public"}, [], set()],
		[_to({"group": "", "kind": "Service"}), [], set()],
	] {
		[ref, hostnames, wanted] := row
		_parents([ref], hostnames) == wanted
	}
}

test_a_malformed_parent_ref_is_left_out if {
	_parents([{}, null, "public", {"name": 3}, _to({"port": 80})], []) == {_http}
}

# K3
test_an_unnamed_rule_is_named_by_its_place if {
	names := hierarchy.section_names(testing.cart_route) with input as testing.changed([])
	names == ["pay", "[1]"]
}

test_the_second_rule_of_one_name_has_none if {
	route := testing.route("cart", [], [{"name": "a"}, {"name": "a"}, {"name": "x#y"}, {"name": ""}, {"name": "b"}])
	names := hierarchy.section_names(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	names == ["a", "[1]", "[2]", "[3]", "b"]
}

test_a_route_whose_rules_are_null_has_no_rules if {
	route := testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "cart"), {"rules": null})
	names := hierarchy.section_names(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	names == []
}
