package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_links_are_reported_by_object_where_there_are_any if {
	found := v1.links with input as {"objects": [_warm, testing.resource("v1", "Namespace", "", "shop")]}
	found == {_warm_key: {"targets": {testing.cart_route}}}
}

test_links_without_objects_are_an_error if {
	found := v1.links with input as {}
	found.error == _invalid("objects must be a list of objects with apiVersion, kind and metadata.name")
}

test_links_of_objects_with_other_fields_than_links_reads_are_an_error if {
	objects := [testing.resource("v1", "Namespace", "", "shop")]
	found := v1.links with input as {"objects": objects, "reads": ["/spec/targetRefs"]}
	found.error.code == "OtherFields"
	same := v1.links with input as {"objects": objects, "reads": v1.link_fields}
	same == {}
}

test_links_read_parent_refs_and_backend_refs if {
	refs := {"/spec/parentRef", "/spec/parentRefs", "/spec/rules/*/filters/*/requestMirror/backendRef"}
	parts := {concat("/", ["/spec/rules/*/backendRefs/*", field]) | some field in ["group", "kind", "name", "namespace"]}
	(refs | parts) - {field | some field in v1.link_fields} == set()
}

test_while_modules_make_links_they_may_read_any_field if {
	read := v1.link_fields with data.bridge.extensions.hierarchy as {"acme": {"links": set()}}
	read == null
	{"with": "/spec/targetRefs"} in v1.link_fields
}

test_while_modules_place_kinds_links_may_depend_on_them if {
	levels := {"acme.io/Path": {"object": "Route"}}
	read := v1.link_fields with data.bridge.extensions.hierarchy as {"acme": {"levels": levels}}
	read == null
}

test_links_of_an_active_policy_and_a_gateway_have_facts if {
	gateway := testing.gateway("public", [testing.listener("http", 80)])
	found := v1.links with input as object.union({"objects": [_warm, gateway]}, testing.changed([_warm, gateway]))
	found[_warm_key].facts.refs[0].key == testing.cart_route
	found["gateway.networking.k8s.io/Gateway/infra/public"].facts.sections == ["http"]
}
