package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.levels
import data.bridge.testing
import data.bridge.v1

_edge_key := "acme.io/Edge/infra/north"

_edge_levels := {"acme.io/Edge": {"object": "Edge"}, "acme.io/Bucket": {"object": "Backend", "section": "Port"}}

_edge := testing.resource("acme.io/v1", "Edge", "infra", "north")

_module(fields) := {"acme": object.union({"levels": _edge_levels}, fields)}

test_a_module_places_further_kinds if {
	found := [level |
		some node in [_edge_key, "acme.io/Bucket/shop/files", "acme.io/Bucket/shop/files#x", "core/Service/shop/cart#http"]
		level := levels.of(node) with data.bridge.extensions.hierarchy as _module({})
	]
	found == ["Edge", "Backend", "Port", "Port"]
}

test_a_modules_link_counts_where_both_ends_exist if {
	links := {[_edge_key, _gateway_key]}
	counting := hierarchy.parents(_gateway_key) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([_edge])
	counting == {_edge_key, _class_key}
	gone := hierarchy.parents(_gateway_key) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([])
	gone == {_class_key}
}

test_a_modules_links_are_stored_like_all_and_with_their_sections if {
	links := {[testing.listener_http, "core/Service/shop/cart"], [testing.listener_http, "core/Service/shop/other@frontend"]}
	entries := index.entries(testing.resource("acme.io/v1", "Plan", "ops", "p")) with data.bridge.extensions.hierarchy as _module({"links": links})
	entries == {
		{"path": ["children", _gateway_key], "value": ["core/Service/shop/cart", "core/Service/shop/other@frontend"]},
		{"path": ["parents", "core/Service/shop/cart"], "value": [_gateway_key]},
		{"path": ["parents", "core/Service/shop/other@frontend"], "value": [_gateway_key]},
		{"path": ["extended", "core/Service/shop/cart"], "value": [testing.listener_http]},
		{"path": ["extended", "core/Service/shop/other@frontend"], "value": [testing.listener_http]},
		{"path": ["referrers", "infra"], "value": true},
		{"path": ["referrers", "shop"], "value": true},
	}
}

test_a_stored_link_of_a_module_counts if {
	objects := array.concat(testing.world, [_edge])
	extended := {"extended": {_gateway_key: {_gateway_key: [_edge_key]}}}
	paths := hierarchy.paths(testing.listener_http, false) with data.objects as testing.stored(objects)
		with data.index as object.union(testing.stored_index(objects), extended)
		with data.bridge.extensions.hierarchy as _module({})
	paths == {[_class_key, _gateway_key, testing.listener_http], [_edge_key, _gateway_key, testing.listener_http]}
	index.has_extension_links with data.index as extended
	not index.has_extension_links
}

# P3
test_the_namespace_of_an_object_of_an_added_kind_is_above_it if {
	links := {[_edge_key, _gateway_key]}
	paths := hierarchy.paths(_gateway_key, true) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([_edge])
	paths == {
		[_class_key, "core/Namespace/-/infra", _gateway_key],
		["core/Namespace/-/infra", _edge_key, "core/Namespace/-/infra", _gateway_key],
	}
}

test_what_a_module_links_to_a_service_leads_to_its_ports if {
	links := {[_edge_key, "core/Service/shop/other"]}
	service := testing.service("other", [{"name": "http", "port": 80}])
	paths := hierarchy.paths("core/Service/shop/other#http", false) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([_edge, service])
	paths == {[_edge_key, "core/Service/shop/other", "core/Service/shop/other#http"]}
}

test_below_an_object_of_a_further_kind_is_what_it_is_linked_to if {
	links := {[_edge_key, _gateway_key]}
	below := hierarchy.objects_below(_edge_key) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([_edge])
	below == {_edge_key, _gateway_key, testing.cart_route, "core/Service/shop/cart"}
}

# T2
test_of_a_virtual_kind_any_name_and_any_section_exists if {
	modules := _module({"virtual": {"acme.io/Bucket"}})
	every key in ["acme.io/Bucket/shop/any", "acme.io/Bucket/shop/any#part", "acme.io/Bucket/shop/any@frontend"] {
		found := hierarchy.canonical_key(key) with data.bridge.extensions.hierarchy as modules
		found == key
	}
	not hierarchy.canonical_key("acme.io/Other/shop/any") with data.bridge.extensions.hierarchy as modules
	not hierarchy.canonical_key("acme.io/Bucket/shop/any#part")
}

# T2
test_a_policy_kind_may_declare_a_kind_virtual if {
	kind := testing.policykind({
		"group": "acme.io",
		"kind": "Lock",
		"class": "Direct",
		"targets": [{"group": "acme.io", "kind": "Vault", "virtual": true}, {"group": "acme.io", "kind": "Safe"}],
	})
	hierarchy.exists("acme.io/Vault/shop/any") with input as testing.changed([kind])
	not hierarchy.exists("acme.io/Safe/shop/any") with input as testing.changed([kind])
	not hierarchy.exists("acme.io/Vault/shop/any")
}

test_what_a_module_gives_in_another_shape_is_ignored_and_reported if {
	modules := {
		"acme": {
			"levels": {"Bucket": {"object": "Backend"}, "acme.io/A": "Backend", "acme.io/B": {"object": "Port"}, "core/Service": {"object": "Edge"}},
			"virtual": {3, "acme.io/B"},
			"links": {"x", ["a"], [testing.cart_route, testing.cart_pay], [1, 2]},
		},
		"beta": {"levels": ["acme.io/B"], "virtual": "acme.io/C", "links": "none"},
		"one": {"levels": {"acme.io/D": {"object": "Backend"}}},
		"two": {"levels": {"acme.io/D": {"object": "Edge"}}},
	}
	query_input := {"objects": [testing.resource("v1", "Namespace", "", "infra")]}
	level := levels.of("acme.io/D/shop/x") with data.bridge.extensions.hierarchy as modules
	level == "Backend"
	service := levels.by_type["core/Service"] with data.bridge.extensions.hierarchy as modules
	service == {"object": "Backend", "section": "Port"}
	entries := index.entries(query_input.objects[0]) with data.bridge.extensions.hierarchy as modules
	entries == set()
	problems := v1.extension_problems with data.bridge.extensions.hierarchy as modules with input as query_input
	shape := "not {object: a level, section: Listener, Rule or Port}"
	pairs := "two keys, the child without a section"
	[[problem.module, problem.message] | some problem in problems] == [
		["acme", "levels of acme.io/A: Backend is not {object: a level, section: Listener, Rule or Port}"],
		["acme", sprintf("levels of acme.io/B: {\"object\": \"Port\"} is %s", [shape])],
		["acme", "levels of core/Service: the bridge knows that kind, its level stays Backend"],
		["acme", "levels: Bucket is not a type, write <group>/<Kind>"],
		["acme", sprintf("links of core/Namespace/-/infra: [\"a\"] is not [parent, child], %s", [pairs])],
		["acme", sprintf("links of core/Namespace/-/infra: [\"%s\", \"%s\"] is not [parent, child], %s", [testing.cart_route, testing.cart_pay, pairs])],
		["acme", sprintf("links of core/Namespace/-/infra: [1, 2] is not [parent, child], %s", [pairs])],
		["acme", sprintf("links of core/Namespace/-/infra: x is not [parent, child], %s", [pairs])],
		["acme", "virtual: 3 is not a type, write <group>/<Kind>"],
		["beta", "levels must be an object: <group>/<Kind> > {object, section}"],
		["beta", "links must be a set of [parent, child]"],
		["beta", "virtual must be a set of types, <group>/<Kind>"],
		["two", "levels of acme.io/D: the module one gives them already"],
	]
}

test_the_problems_of_no_modules_are_none_and_of_no_objects_an_error if {
	v1.extension_problems == []
	problems := v1.extension_problems with input as {"objects": "x"}
	problems.error.code == "InvalidInput"
}

# P3: only a link puts an object of an unlisted kind below its Namespace.
test_a_backend_of_another_kind_is_below_its_namespace if {
	files := testing.resource("acme.io/v1", "Bucket", "shop", "files")
	route := testing.route("files", [], [{"backendRefs": [{"group": "acme.io", "kind": "Bucket", "name": "files", "namespace": "far"}]}])
	{"path": ["members", "far"], "value": ["acme.io/Bucket/far/files"]} in index.entries(route)
	below := hierarchy.objects_below("core/Namespace/-/far") with input as testing.changed([files, route])
	"acme.io/Bucket/far/files" in below
}
