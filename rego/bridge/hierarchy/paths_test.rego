package bridge.hierarchy_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.levels
import data.bridge.outcomes
import data.bridge.scopes
import data.bridge.testing
import data.bridge.v1

# P1
test_a_path_runs_from_the_class_to_the_rule if {
	paths := hierarchy.paths(testing.cart_pay, false) with input as testing.changed([])
	paths == {testing.cart_pay_path}
}

# P1
test_two_refs_to_one_listener_make_one_path if {
	twice := testing.route(
		"twice", [
			{"name": "public", "namespace": "infra", "sectionName": "http"},
			{"name": "public", "namespace": "infra", "port": 80},
		],
		[],
	)
	key := "gateway.networking.k8s.io/HTTPRoute/shop/twice"
	paths := hierarchy.paths(key, false) with input as testing.changed([twice])
	paths == {array.concat(array.slice(testing.cart_pay_path, 0, 3), [key])}
}

test_each_listener_makes_a_path if {
	both := testing.route("both", [{"name": "public", "namespace": "infra"}], [])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/both"
	paths := hierarchy.paths(key, false) with input as testing.changed([both])
	above := array.slice(testing.cart_pay_path, 0, 2)
	paths == {
		array.concat(above, ["gateway.networking.k8s.io/Gateway/infra/public#http", key]),
		array.concat(above, ["gateway.networking.k8s.io/Gateway/infra/public#alt", key]),
	}
}

# P2
test_a_route_without_a_gateway_is_the_start_of_its_path if {
	alone := testing.route("cart", [{"name": "gone"}], [{"name": "pay"}])
	paths := hierarchy.paths(testing.cart_pay, false) with input as {"changes": {"upsert": [alone]}}
	paths == {[testing.cart_route, testing.cart_pay]}
}

# P3
test_a_namespace_stands_directly_above_each_object_that_it_holds if {
	service := "core/Service/shop/cart"
	route := testing.route("cart", [{"name": "public", "namespace": "infra", "port": 80}], [{"name": "pay", "backendRefs": [{"name": "cart", "port": 80}]}])
	others := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	paths := hierarchy.paths(service, true) with input as {"changes": {"upsert": array.concat(others, [route])}}
	paths == {[
		"gateway.networking.k8s.io/GatewayClass/-/example",
		"core/Namespace/-/infra",
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.listener_http,
		"core/Namespace/-/shop",
		testing.cart_route,
		testing.cart_pay,
		"core/Namespace/-/shop",
		"core/Service/shop/cart",
	]}
}

# P2
test_a_namespace_that_does_not_exist_is_left_out if {
	alone := testing.route("cart", [], [])
	paths := hierarchy.paths(testing.cart_route, true) with input as {"changes": {"upsert": [alone]}}
	paths == {[testing.cart_route]}
}

test_a_class_and_a_namespace_have_no_parents if {
	hierarchy.parents("gateway.networking.k8s.io/GatewayClass/-/example") == set()
	hierarchy.parents("core/Namespace/-/shop") == set()
}

_paths_kind := "example.com/PoolPolicy"

_pool_kind := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend"})

_listeners(number) := [testing.listener(sprintf("l%d", [port]), port) | some port in numbers.range(1, number)]

# Three listeners, two routes, one of which names the Service in two rules: nine paths.
_crowd := [
	_pool_kind,
	testing.gateway("wide", _listeners(3)),
	testing.service("many", []),
	testing.route("a", [{"name": "wide", "namespace": "infra"}], [{"backendRefs": [{"name": "many", "port": 80}]}, {"backendRefs": [{"name": "many", "port": 80}]}]),
	testing.route("b", [{"name": "wide", "namespace": "infra"}], [{"backendRefs": [{"name": "many", "port": 80}, {"name": "many", "port": 1}]}]),
]

_many := "core/Service/shop/many"

_route_a := "gateway.networking.k8s.io/HTTPRoute/shop/a"

_pool(name, refs) := testing.with_spec(testing.resource("example.com/v1", "PoolPolicy", "shop", name), {"targetRefs": refs, "size": 1})

_crowded(more, fields) := object.union({"changes": {"upsert": array.concat(array.concat(testing.world, _crowd), more)}}, fields)

test_path_count_is_the_number_of_paths if {
	every node in [_many, _route_a, testing.cart_route, "core/Service/shop/cart", "gateway.networking.k8s.io/Gateway/infra/wide"] {
		number := hierarchy.path_count(node) with input as _crowded([], {})
		found := hierarchy.paths(node, true) with input as _crowded([], {})
		number == count(found)
	}
}

test_path_count_of_an_object_without_parents_is_zero if {
	every node in ["core/Service/shop/gone", "gateway.networking.k8s.io/HTTPRoute/shop/gone", "gateway.networking.k8s.io/GatewayClass/-/example"] {
		number := hierarchy.path_count(node) with input as _crowded([], {})
		number == 0
	}
}

test_nodes_above_a_node_are_those_of_its_paths if {
	every node in [_many, concat("", [_route_a, "#[0]"]), testing.cart_route, "core/Service/shop/cart", "core/Service/shop/cart#http"] {
		nodes := hierarchy.nodes_above(node) with input as _crowded([], {})
		found := hierarchy.paths(node, false) with input as _crowded([], {})
		nodes == {above | some path in found; some above in path}
	}
}

# P9
test_paths_above_the_bound_are_one_path_that_shows_the_cut if {
	cut := hierarchy.paths(_many, true) with input as _crowded([], {}) with hierarchy.paths_bound as 8
	whole := hierarchy.paths(_many, true) with input as _crowded([], {}) with hierarchy.paths_bound as 9
	cut == {[hierarchy.path_bound_mark, _many]}
	count(whole) == 9
}

# P9
test_target_above_the_bound_is_an_error_and_never_silent if {
	every more in [[], [_pool("own", [testing.service_ref("many")])], [_pool("above", [testing.ref("HTTPRoute", "a")])]] {
		[entry] := effective.policies_of(_paths_kind, _many, "") with input as _crowded(more, {}) with hierarchy.paths_bound as 8
		entry.error.code == "BoundExceeded"
		entry.error.message == "This target has more than 8 paths, or a path with more than 16 objects"
	}
}

# P9
test_targets_of_a_query_share_the_bound if {
	query_input := {"policyKind": _paths_kind, "targets": [_many, "core/Service/shop/cart"]}
	refused := v1.outcomes with input as _crowded([], query_input) with hierarchy.paths_bound as 9
	answered := v1.outcomes with input as _crowded([], query_input) with hierarchy.paths_bound as 11
	refused.error.code == "TooManyPaths"
	not answered.error
	alone := v1.outcomes with input as _crowded([], object.union(query_input, {"targets": [_many]})) with hierarchy.paths_bound as 8
	not alone.error
}

# P9
test_remediation_above_the_bound_leaves_the_outcomes_to_further_queries if {
	query_input := _crowded([_pool("own", [testing.service_ref("many")])], {"keys": [_many], "was": {}, "wanted": {"scopes": {}, "remediation": {"observed": true}}})
	within := v1.outdated with input as query_input with hierarchy.paths_bound as 20
	above := v1.outdated with input as query_input with hierarchy.paths_bound as 8
	count(within.remediation.outcomes[_paths_kind][_many]) == 9
	above.scopes[_paths_kind] == [_many]
	above.remediation == {}
}

# Zones in the namespace infra, by their names, and links between them.
_zones(names) := [testing.resource("acme.io/v1", "Zone", "infra", name) | some name in names]

_zone(name) := sprintf("acme.io/Zone/infra/%s", [name])

_zone_links(pairs) := {"acme": {
	"levels": {"acme.io/Zone": {"object": "Zone"}},
	"links": {[_zone(pair[0]), _zone(pair[1])] | some pair in pairs},
}}

_zone_paths(names, pairs, target) := {short |
	paths := hierarchy.paths(_zone(target), false) with data.bridge.extensions.hierarchy as _zone_links(pairs)
		with input as {"changes": {"upsert": _zones(names)}}
	some path in paths
	short := [trim_prefix(node, "acme.io/Zone/infra/") | some node in path]
}

# P7
test_a_cycle_of_two_is_cut_at_the_first_repeated_key if {
	pairs := [["a", "b"], ["b", "a"], ["a", "t"]]
	_zone_paths(["a", "b", "t"], pairs, "t") == {["b", "a", "t"]}
	_zone_paths(["a", "b", "t"], pairs, "a") == {["b", "a"]}
}

# P7
test_a_cycle_of_three_is_cut_at_the_first_repeated_key if {
	_zone_paths(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "a"]], "c") == {["a", "b", "c"]}
}

# P7
test_a_cycle_of_an_extension_is_cut if {
	_zone_paths(["a"], [["a", "a"]], "a") == {["a"]}
}

# P7: the way out of the cycle is a path of its own.
test_a_cycle_with_a_way_out_has_both_paths if {
	pairs := [["a", "b"], ["b", "a"], ["a", "t"], ["root", "b"]]
	_zone_paths(["a", "b", "t", "root"], pairs, "t") == {["b", "a", "t"], ["root", "b", "a", "t"]}
}

# P1
test_two_ways_that_share_no_cycle_are_two_paths if {
	pairs := [["r", "a"], ["r", "b"], ["a", "t"], ["b", "t"]]
	_zone_paths(["a", "b", "r", "t"], pairs, "t") == {["r", "a", "t"], ["r", "b", "t"]}
}

test_a_walk_above_the_bound_is_marked if {
	names := [sprintf("z%02d", [number]) | some number in numbers.range(0, 20)]
	pairs := [[names[index], names[index + 1]] | some index in numbers.range(0, 19)]
	{count(path) | some path in _zone_paths(names, pairs, "z20")} == {18}
	{path[0] | some path in _zone_paths(names, pairs, "z20")} == {hierarchy.path_bound_mark}
	{count(path) | some path in _zone_paths(names, pairs, "z15")} == {16}
	shortcuts := [[name, "z20"] | some name in names; name != "z20"]
	max([count(path) | some path in _zone_paths(names, array.concat(pairs, shortcuts), "z20")]) == 18
}

test_a_cycle_is_reported_with_the_links_that_do_not_count if {
	modules := _zone_links([["a", "b"], ["b", "a"], ["a", "t"]])
	links := hierarchy.rejected_links(_zone("t")) with data.bridge.extensions.hierarchy as modules
		with input as {"changes": {"upsert": _zones(["a", "b", "t"])}}
	[[link.parent, link.child, link.reason] | some link in links] == [
		[_zone("b"), _zone("a"), "Cycle"],
		[_zone("a"), _zone("b"), "Cycle"],
	]
	links[0].message == concat("", [
		"Zone/infra/b is already below Zone/infra/a: ",
		"an extension's links form a cycle, so paths end there",
	])
}

# P7
test_the_name_of_a_cut_path_shows_the_cut if {
	pairs := [["a", "b"], ["b", "a"]]
	modules := {"acme": object.union(_zone_links(pairs).acme, {"levels": {"acme.io/Zone": {"object": "Gateway"}}})}
	kind := testing.policykind({"group": "acme.io", "kind": "Fence", "effectiveTarget": "Gateway"})
	policy := testing.with_spec(
		testing.resource("acme.io/v1", "Fence", "infra", "f"),
		{"targetRefs": [{"group": "acme.io", "kind": "Zone", "name": "a"}], "high": 3},
	)
	rows := outcomes.outcomes_at("acme.io/Fence", _zone("b")) with data.bridge.extensions.hierarchy as modules
		with input as {"changes": {"upsert": array.concat(_zones(["a", "b"]), [kind, policy])}}
	[[row.outcome, scope] | some row in rows; some scope in row.examples] == [[
		"Programmed",
		"Zone.acme.io/infra/a > Zone.acme.io/infra/b (cut: links of an extension lead back to acme.io/Zone/infra/b)",
	]]
}

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

test_a_link_of_a_module_to_a_service_leads_to_its_ports if {
	links := {[_edge_key, "core/Service/shop/other"]}
	service := testing.service("other", [{"name": "http", "port": 80}])
	paths := hierarchy.paths("core/Service/shop/other#http", false) with data.bridge.extensions.hierarchy as _module({"links": links})
		with input as testing.changed([_edge, service])
	paths == {[_edge_key, "core/Service/shop/other", "core/Service/shop/other#http"]}
}

test_below_an_object_of_a_further_kind_are_its_linked_objects if {
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

test_results_of_a_module_in_another_shape_are_ignored_and_reported if {
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

_class_of(controller) := testing.with_spec(
	testing.resource(testing.gateway_api, "GatewayClass", "", "example"),
	{"controllerName": controller},
)

# The world with a class of a controller, and a kind whose policies example.com/gw reads.
_controlled(controller, fields) := {"changes": {"upsert": array.concat(others, [
	_class_of(controller),
	testing.policykind(object.union(object.remove(testing.color_kind, ["specPaths", "strategies"]), object.union({"controllers": ["example.com/gw"]}, fields))),
	testing.color("infra", "public", 1, [testing.ref("Gateway", "public")], {"color": "red"}),
])}} if {
	others := [obj | some obj in testing.world; not obj.kind in {"GatewayClass", "PolicyKind"}]
}

_policy := "example.com/ColorPolicy/infra/public"

# P8
test_a_path_counts_below_a_class_of_a_controller_of_the_kind if {
	found := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/gw", {})
	found == {testing.cart_pay_path}
}

# P8
test_a_path_does_not_count_below_a_class_of_another_controller if {
	found := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", {})
	found == set()
	whole := hierarchy.all_kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", {})
	whole == {testing.cart_pay_path}
}

# P8
test_a_policy_reaches_nothing_below_another_controllers_class if {
	reached := scopes.reachable_scopes(_policy) with input as _controlled("example.com/gw", {})
	testing.cart_pay in reached
	others := scopes.reachable_scopes(_policy) with input as _controlled("example.com/other", {})
	others == set()
	in_part := scopes.sample_scopes(_policy, 10) with input as _controlled("example.com/other", {})
	in_part.scopes == set()
}

# P8
test_an_attachment_that_a_controller_keeps_off_is_explained if {
	every fields in [{}, {"class": "Direct", "effectiveTarget": "Target"}] {
		found := attachment.rejections("example.com/ColorPolicy", "gateway.networking.k8s.io/Gateway/infra/public") with input as _controlled("example.com/other", fields)
		{rejection.reason | some rejection in found} == {"OtherController"}
	}
}

# C2, P8
test_a_direct_kind_has_no_path_where_no_path_to_its_target_counts if {
	direct := {"class": "Direct", "effectiveTarget": "Target"}
	others := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", direct)
	others == set()
	own := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/gw", direct)
	own == {[testing.cart_route, testing.cart_pay]}
}

_own_frontend := "core/Service/shop/cart@frontend"

_parent_cart := {"group": "", "kind": "Service", "name": "cart", "namespace": "shop"}

_producer := testing.route("cart", [_parent_cart], [{"name": "pay", "backendRefs": [{"name": "cart"}]}])

_consumer_in(namespace) := object.union(_producer, {"metadata": {"namespace": namespace}})

_consumer_key := "gateway.networking.k8s.io/HTTPRoute/app/cart"

_consumed(objects) := {"changes": {"upsert": array.concat([testing.service("cart", [])], objects)}}

_producer_path := [_own_frontend, testing.cart_route]

_consumer_path := [_own_frontend, "core/Namespace/-/app", _consumer_key]

# P6
test_a_producers_route_counts_for_all_that_have_none_of_their_own if {
	counts := [found |
		some source in ["", "shop", "app", "blog"]
		found := _counts(_producer_path, source) with input as _consumed([_producer, _consumer_in("app")])
	]
	counts == [true, true, false, true]
}

# P6
test_a_consumers_route_counts_for_its_own_namespace_alone if {
	counts := [found |
		some source in ["", "shop", "app", "blog"]
		found := _counts(_consumer_path, source) with input as _consumed([_producer, _consumer_in("app")])
	]
	counts == [false, false, true, false]
}

# P6: one whose parentRef names a port that is not there replaces nothing.
test_a_consumers_route_that_does_not_count_replaces_nothing if {
	route := object.union(_consumer_in("app"), {"spec": {"parentRefs": [object.union(_parent_cart, {"port": 1})]}})
	_counts(_producer_path, "app") == true with input as _consumed([_producer, route])
}

test_policies_without_a_frontend_count_for_every_source if {
	hierarchy.counts_for(testing.cart_pay_path, "app")
	hierarchy.counts_for(testing.cart_pay_path, "")
	hierarchy.consumers(testing.cart_pay_path) == set()
}

test_consumers_are_the_namespaces_of_routes_for_another_namespaces_frontend if {
	hierarchy.consumers(_consumer_path) == {"app"}
	hierarchy.consumers(_producer_path) == set()
}

_counts(path, source) if {
	hierarchy.counts_for(path, source)
} else := false

test_a_kind_that_needs_routes_has_paths_to_listeners_with_routes_alone if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "RecordPolicy",
		"class": "Direct",
		"targets": [{"group": testing.gateway_group, "kind": "Gateway", "sections": true}],
		"needsRoutes": true,
	})
	gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"
	paths := {path |
		some node in [gateway_key, testing.listener_http, "gateway.networking.k8s.io/Gateway/infra/public#alt"]
		some path in hierarchy.kind_paths("example.com/RecordPolicy", node) with input as testing.changed([kind])
	}
	paths == {[gateway_key, testing.listener_http]}
}
