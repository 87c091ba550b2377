package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.levels
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

test_a_parent_of_gateway_api_that_is_not_read_is_no_frontend if {
	refused := {[kind, link.reason, link.message] |
		some kind, group in {"XListenerSet": "gateway.networking.x-k8s.io", "Mesh": "gateway.networking.k8s.io", "EgressNetwork": "policy.linkerd.io"}
		edge := testing.resource(concat("", [group, "/v1"]), kind, "shop", "edge")
		route := testing.route("cart", [{"group": group, "kind": kind, "name": "edge"}], [])
		links := hierarchy.rejected_links(testing.cart_route) with input as {"changes": {"upsert": [edge, route]}}
		some link in links
	}
	text := "/shop/edge: requests may reach the route's rules through this parent"
	refused == {
		["XListenerSet", "NoMatchingParent", concat("", ["Policy Bridge does not read XListenerSet", text, ". Since Gateway API 1.5 it is a ListenerSet"])],
		["Mesh", "NoMatchingParent", concat("", ["Policy Bridge does not read Mesh", text])],
	}
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

test_a_route_with_null_for_its_rules_has_no_rules if {
	route := testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "cart"), {"rules": null})
	names := hierarchy.section_names(testing.cart_route) with input as {"changes": {"upsert": [route]}}
	names == []
}

_refs_leading(refs, above) := found if {
	found := hierarchy.parent_refs("gateway.networking.k8s.io/HTTPRoute/shop/many", {above}) with input as testing.changed([testing.route("many", refs, [{}])])
}

_whole := {"name": "public", "namespace": "infra"}

_by_section := {"name": "public", "namespace": "infra", "sectionName": "http"}

_by_port := {"name": "public", "namespace": "infra", "port": 8080}

_other := {"name": "other", "namespace": "infra"}

test_the_parent_refs_that_lead_to_a_listener_are_those_that_select_it if {
	refs := [_whole, _by_section, _by_port, _other]
	http := _refs_leading(refs, testing.listener_http)
	alt := _refs_leading(refs, "gateway.networking.k8s.io/Gateway/infra/public#alt")
	[http, alt] == [{_whole, _by_section}, {_whole, _by_port}]
}

test_all_parent_refs_lead_to_a_path_that_begins_at_the_route if {
	_refs_leading([_whole, _other], "") == {_whole, _other}
}

_catalog := "core/Service/shop/catalog"

_catalog_frontend := "core/Service/shop/catalog@frontend"

_mesh_key := "gateway.networking.k8s.io/HTTPRoute/shop/mesh"

_mesh(parent_ref) := testing.route("mesh", [object.union({"group": "", "kind": "Service", "name": "catalog"}, parent_ref)], [{
	"name": "all",
	"backendRefs": [{"name": "cart", "port": 80}],
}])

_mesh_world(parent_ref) := testing.changed([_mesh(parent_ref), testing.service("catalog", [{"name": "http", "port": 80}])])

# K4
test_a_service_as_a_parent_is_a_frontend_above_the_route if {
	paths := hierarchy.paths("gateway.networking.k8s.io/HTTPRoute/shop/mesh#all", false) with input as _mesh_world({})
	paths == {[_catalog_frontend, _mesh_key, "gateway.networking.k8s.io/HTTPRoute/shop/mesh#all"]}
}

# K4
test_the_frontend_and_the_backend_of_one_service_are_two_nodes if {
	itself := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [{
		"name": "all",
		"backendRefs": [{"name": "cart", "port": 80}],
	}])
	others := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	paths := hierarchy.paths("core/Service/shop/cart", false) with input as {"changes": {"upsert": array.concat(others, [itself])}}
	paths == {["core/Service/shop/cart@frontend", _mesh_key, "gateway.networking.k8s.io/HTTPRoute/shop/mesh#all", "core/Service/shop/cart"]}
}

# P3
test_the_namespace_of_a_frontend_is_above_it if {
	paths := hierarchy.paths(_mesh_key, true) with input as _mesh_world({})
	paths == {["core/Namespace/-/shop", _catalog_frontend, "core/Namespace/-/shop", _mesh_key]}
}

# Gateway API, ParentReference.
test_a_parent_ref_to_a_service_names_ports_that_it_has if {
	every row in [
		[{"port": 80}, {_catalog_frontend}],
		[{"port": 81}, set()],
		[{"sectionName": "http"}, {_catalog_frontend}],
		[{"sectionName": "http", "port": 80}, {_catalog_frontend}],
		[{"sectionName": "http", "port": 81}, set()],
		[{"sectionName": "web"}, set()],
		[{"name": "gone"}, set()],
	] {
		parents := hierarchy.parents(_mesh_key) with input as _mesh_world(row[0])
		parents == row[1]
	}
}

# A port of an unknown kind has no meaning.
test_an_object_of_another_kind_is_a_frontend_too if {
	bucket := testing.resource("acme.io/v1", "Bucket", "shop", "files")
	route := testing.route("mesh", [{"group": "acme.io", "kind": "Bucket", "name": "files", "port": 3}], [])
	parents := hierarchy.parents(_mesh_key) with input as {"changes": {"upsert": [bucket, route]}}
	parents == {"acme.io/Bucket/shop/files@frontend"}
	levels.of("acme.io/Bucket/shop/files@frontend") == "Frontend"
}

test_neither_a_class_nor_a_namespace_nor_a_route_is_a_parent_of_a_route if {
	every ref in [
		{"kind": "GatewayClass", "name": "example"},
		{"group": "", "kind": "Namespace", "name": "shop"},
		{"kind": "HTTPRoute", "name": "cart"},
	] {
		route := testing.route("mesh", [ref], [])
		parents := hierarchy.parents(_mesh_key) with input as testing.changed([route])
		parents == set()
	}
}

# K4
test_a_frontend_is_in_the_index_as_such if {
	links := index.entries(_mesh({}))
	{"path": ["children", _catalog_frontend], "value": [_mesh_key]} in links
	{"path": ["parents", _mesh_key], "value": [_catalog_frontend]} in links
	backends := index.declared_parents(_catalog) with input as _mesh_world({})
	backends == set()
}

test_below_a_service_are_the_routes_of_its_frontend if {
	below := hierarchy.objects_below(_catalog) with input as _mesh_world({})
	below == {_catalog, _catalog_frontend, _mesh_key, "core/Service/shop/cart"}
	from_frontend := hierarchy.objects_below(_catalog_frontend) with input as _mesh_world({})
	from_frontend == {_catalog_frontend, _mesh_key, "core/Service/shop/cart"}
	of_backend := hierarchy.objects_below("core/Service/shop/cart") with input as _mesh_world({})
	of_backend == {"core/Service/shop/cart"}
	of_namespace := hierarchy.objects_below("core/Namespace/-/shop") with input as _mesh_world({})
	_catalog_frontend in of_namespace
}

test_a_frontend_is_canonical_where_its_object_exists_and_can_be_one if {
	every row in [
		[_catalog_frontend, true],
		["core/Service/shop/gone@frontend", false],
		["core/Service/shop/catalog#http@frontend", false],
		["core/Service/shop/catalog#80@frontend", false],
		["core/Service/shop/catalog@other", false],
		["gateway.networking.k8s.io/Gateway/infra/public@frontend", false],
	] {
		found := _is_canonical(row[0]) with input as _mesh_world({})
		found == row[1]
	}
}

_is_canonical(key) if {
	hierarchy.canonical_key(key) == key
} else := false

# K4
test_a_frontend_is_at_no_level_that_policies_act_at if {
	nodes := [found |
		some level in ["Backend", "Port"]
		found := _nodes_at(_catalog_frontend, level) with input as _mesh_world({})
	]
	nodes == [set(), set()]
}

_nodes_at(key, level) := hierarchy.nodes_at(key, level)

_nodes_at(key, level) := set() if not hierarchy.nodes_at(key, level)
