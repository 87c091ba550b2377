package bridge.v1_test

import data.bridge.index
import data.bridge.testing
import data.bridge.v1

_tree(objects, fields) := found if {
	found := v1.tree with input as _query_input(objects, fields)
}

test_the_tree_starts_at_nodes_without_parents if {
	lonely := testing.service("lonely", [{"name": "http", "port": 80}])
	found := _tree([lonely], {})
	found.roots == ["gateway.networking.k8s.io/GatewayClass/-/example"]
	count(found.nodes) == 10
}

test_a_policy_makes_its_lonely_target_a_root if {
	lonely := testing.service("lonely", [{"name": "http", "port": 80}])
	slow := testing.timeout("slow", 1, [testing.service_ref("lonely")], {"request": "1s"})
	_tree([lonely, slow], {}).roots == ["core/Service/shop/lonely", "gateway.networking.k8s.io/GatewayClass/-/example"]
}

test_a_node_tells_its_policies_and_whether_they_count if {
	gone := testing.color("shop", "gone", 2, [testing.section_ref("HTTPRoute", "cart", "pay"), testing.ref("HTTPRoute", "none")], {})
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	found := _tree([gone, far], {"root": "gateway.networking.k8s.io/Gateway/infra/public"})
	found.nodes[testing.cart_pay].policies == [{"policy": "example.com/ColorPolicy/shop/gone", "policyKind": _color, "accepted": true}]
	[[policy.accepted, policy.reason] |
		some policy in found.nodes["gateway.networking.k8s.io/Gateway/infra/public"].policies
	] == [[false, "TargetNotFound"]]
}

test_a_namespace_with_policies_is_in_the_tree_beside_its_members if {
	held := testing.color("shop", "all", 2, [{"group": "", "kind": "Namespace", "name": "shop"}], {})
	wide := testing.policykind(object.union(testing.color_kind, {"targets": [{"group": "", "kind": "Namespace"}]}))
	others := [obj | some obj in testing.world; obj.metadata.name != wide.metadata.name]
	found := v1.tree with input as {
		"root": testing.cart_route,
		"changes": {"upsert": array.concat(others, [wide, held])},
	}
	found.nodes[testing.cart_route].namespace == "core/Namespace/-/shop"
	found.nodes["core/Namespace/-/shop"].level == "Namespace"
}

test_depth_bounds_the_tree if {
	found := _tree([], {"root": "gateway.networking.k8s.io/Gateway/infra/public", "depth": 1})
	count(found.nodes) == 3
	found.nodes[testing.listener_http].children == [testing.cart_route]
}

test_a_bad_root_is_an_error if {
	every row in [
		[{"root": 3}, "InvalidInput"],
		[{"root": false}, "InvalidInput"],
		[{"root": ""}, "InvalidInput"],
		[{"root": "Service/cart"}, "InvalidInput"],
		[{"root": "core/Service/shop/gone"}, "TargetNotFound"],
		[{"depth": 16}, "InvalidInput"],
		[{"depth": "all"}, "InvalidInput"],
		[{"policyKind": "example.com/Foo"}, "UnknownPolicyKind"],
	] {
		_tree([], row[0]).error.code == row[1]
	}
}

test_links_that_do_not_count_are_reported_where_they_are_requested if {
	lost := testing.route("lost", [{"name": "gone"}], [])
	not "refused" in object.keys(_tree([lost], {}))
	[link.reason | some link in _tree([lost], {"refused": true}).refused] == ["ParentNotFound"]
}

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_picture(objects, keys) := found if {
	found := v1.picture with input as _query_input(objects, {"objects": keys})
}

test_an_object_of_a_picture_has_the_problems_that_it_has_elsewhere if {
	mirror := {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "m/n", "port": 80}}}
	torn := testing.route("torn", [{"name": "gone", "namespace": "infra"}, {"name": "x/y"}], [{
		"filters": [mirror],
		"backendRefs": [{"name": "cart", "port": 81}, {"name": "missing", "port": 80}],
	}])
	route := "gateway.networking.k8s.io/HTTPRoute/shop/torn"
	objects := [route, "core/Service/shop/cart", "gateway.networking.k8s.io/Gateway/infra/public"]
	drawn := {problem | some entry in _picture([torn], objects); some problem in entry.problems}
	listed := v1.problems with input as _query_input([torn], {"objects": objects})
	drawn == {problem | some problem in listed}
	{problem.subject | some problem in listed} == {route}
	count(listed) == 5
}

test_a_picture_begins_at_the_top if {
	found := v1.picture_roots with input as _query_input([], {})
	found[0] == ["gateway.networking.k8s.io/GatewayClass/-/example"]
	_gateway in found[1]
	testing.cart_route in found[3]
}

test_a_picture_begins_with_the_targets_of_policies_too if {
	slow := testing.timeout("slow", 1, [testing.service_ref("lonely")], {"request": "1s"})
	found := v1.picture_roots with input as _query_input([slow], {})
	"core/Service/shop/lonely" in found[4]
}

test_an_object_tells_its_nodes_and_the_edges_that_it_declares if {
	found := _picture([], [testing.cart_route])[testing.cart_route]
	found.alone
	found.nodes[testing.cart_route].level == "Route"
	found.nodes[testing.cart_pay].level == "Rule"
	[testing.cart_route, testing.cart_pay] in found.edges
	[testing.listener_http, testing.cart_route] in found.edges
	[testing.cart_pay, "core/Service/shop/cart"] in found.edges
}

test_a_backend_does_not_name_the_rules_above_it if {
	found := _picture([], ["core/Service/shop/cart"])["core/Service/shop/cart"]
	not found.alone
	every edge in found.edges {
		edge[0] == "core/Service/shop/cart"
	}
}

test_a_node_of_the_picture_has_its_policies if {
	held := testing.color("shop", "one", 2, [testing.section_ref("HTTPRoute", "cart", "pay")], {})
	found := _picture([held], [testing.cart_route])[testing.cart_route]
	[policy.policy | some policy in found.nodes[testing.cart_pay].policies] == ["example.com/ColorPolicy/shop/one"]
}

test_objects_without_a_place_are_not_in_the_picture if {
	_picture([], ["core/Service/shop/none", "example.com/ColorPolicy/shop/x"]) == {}
}

test_links_that_do_not_count_are_reported_with_their_reason if {
	gone := testing.route("lost", [{"name": "none"}], [])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/lost"
	found := _picture([gone], [key])[key]
	[link.reason | some link in found.refused] == ["ParentNotFound"]
}

_redrawn(objects, fields) := found if {
	wanted := {"picture": {"drawn": fields.drawn}}
	found := v1.outdated.picture with input as _query_input(objects, object.union(fields, {"wanted": wanted}))
}

test_a_policy_redraws_its_targets_of_now_and_before if {
	held := testing.color("shop", "one", 2, [testing.section_ref("HTTPRoute", "cart", "pay")], {})
	policy := "example.com/ColorPolicy/shop/one"
	found := _redrawn([held], {"keys": [policy], "drawn": [], "was": {policy: [["targeted", _gateway]]}})
	found == [policy, _gateway, testing.cart_route]
}

test_a_gateway_redraws_its_routes if {
	testing.cart_route in _redrawn([], {"keys": [_gateway], "drawn": [_gateway]})
}

# GEP-1294: a mesh's routes of one type take effect once the routes of a preferred type have left the Service.
test_a_route_that_left_a_frontend_redraws_the_routes_of_other_types_there if {
	meshed := testing.route("meshed", [{"group": "", "kind": "Service", "name": "cart"}], [])
	left := "gateway.networking.k8s.io/GRPCRoute/shop/left"
	fields := {"keys": [left], "drawn": [left], "was": {left: [["children", "core/Service/shop/cart@frontend"]]}}
	"gateway.networking.k8s.io/HTTPRoute/shop/meshed" in _redrawn([meshed], fields)
}

_example_class := "gateway.networking.k8s.io/GatewayClass/-/example"

# The index of stored objects, with a link of an extension from a Service to the class, which the Service declares.
_with_a_link_up(objects, service) := object.union(
	testing.stored_index(objects),
	testing.stored_entries(service, index.entries_of(service, {"extended": {[service, _example_class]}})),
)

_redrawn_in(objects, service, key, was) := found if {
	found := v1.outdated.picture with input as {"keys": [key], "was": {key: was}, "wanted": {"picture": {"drawn": [key]}}}
		with data.objects as testing.stored(objects)
		with data.index as _with_a_link_up(objects, service)
}

# P7: the link from the Service to the class is refused while a route leads from the class to the Service.
test_a_route_redraws_the_refused_link_of_a_cycle_that_it_closes if {
	_example_class in _redrawn_in(testing.world, "core/Service/shop/cart", testing.cart_route, [])
	not _example_class in _redrawn_in(testing.world, "core/Service/shop/elsewhere", testing.cart_route, [])
}

test_a_route_redraws_the_link_that_it_no_longer_has_in_a_cycle if {
	objects := [obj | some obj in testing.world; obj.kind != "HTTPRoute"]
	was := [["children", _gateway], ["parents", "core/Service/shop/cart"]]
	_example_class in _redrawn_in(objects, "core/Service/shop/cart", testing.cart_route, was)
	not _example_class in _redrawn_in(objects, "core/Service/shop/cart", testing.cart_route, [["children", _gateway]])
	not _example_class in _redrawn_in(objects, "core/Service/shop/cart", testing.cart_route, [["parents", "core/Service/shop/cart"]])
}

test_a_former_default_gateway_redraws_the_link_that_it_no_longer_has_in_a_cycle if {
	route := testing.with_spec(
		testing.resource("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "free"),
		{"useDefaultGateways": "All", "rules": [{"backendRefs": [{"name": "free", "port": 80}]}]},
	)
	objects := array.concat(testing.world, [route])
	_example_class in _redrawn_in(objects, "core/Service/shop/free", _gateway, [["parents", "gateway.networking.k8s.io/Gateway/-/All"]])
	not _example_class in _redrawn_in(objects, "core/Service/shop/free", _gateway, [])
}

test_a_new_class_redraws_gateways_with_a_missing_class if {
	lost := testing.with_spec(testing.resource("gateway.networking.k8s.io/v1", "Gateway", "infra", "lost"), {"gatewayClassName": "gone", "listeners": []})
	key := "gateway.networking.k8s.io/Gateway/infra/lost"
	class := "gateway.networking.k8s.io/GatewayClass/-/goner"
	key in _redrawn([lost], {"keys": [class], "drawn": []})
	not _gateway in _redrawn([lost], {"keys": [class], "drawn": []})
}

test_a_namespace_redraws_its_objects if {
	testing.cart_route in _redrawn([], {"keys": ["core/Namespace/-/shop"], "drawn": []})
}

# Its ports decide which of the routes' refs lead to it.
test_a_service_redraws_the_routes_that_name_it if {
	testing.cart_route in _redrawn([], {"keys": ["core/Service/shop/cart"], "drawn": []})
	testing.cart_route in _redrawn([], {"keys": ["core/Service/shop/cart"], "drawn": ["core/Service/shop/cart"]})
}

test_the_queries_of_a_picture_refuse_values_that_are_no_keys if {
	bad := v1.picture with input as {"objects": ["x"]}
	bad.error.code == "InvalidInput"
	worse := v1.outdated with input as {"keys": 3}
	worse.error.code == "InvalidInput"
}

_objects := {
	"core": {"Service": {"shop": {"cart": {"spec": {"ports": [{"name": "http", "port": 80}]}}, "catalog": {}}, "blog": {"cart": {}}}},
	"apiextensions.k8s.io": {"CustomResourceDefinition": {"-": {"colorpolicies.example.com": {"spec": {
		"group": "example.com",
		"names": {"kind": "ColorPolicy", "plural": "colorpolicies", "shortNames": ["cp"]},
	}}}}},
}

test_types_have_the_names_of_a_crd if {
	found := v1.types with data.objects as _objects with data.kinds as {"example.com/ColorPolicy": {}} with input as {}
	found["example.com/ColorPolicy"] == {"names": ["colorpolicies", "cp"], "policy": true}
	found["core/Service"] == {"names": [], "policy": false}
}

test_types_have_the_names_of_all_crds_that_claim_them if {
	twin := {"spec": {"group": "example.com", "names": {"kind": "ColorPolicy", "plural": "paints"}}}
	stored := json.patch(_objects, [{"op": "add", "path": "/apiextensions.k8s.io/CustomResourceDefinition/-/paints.example.com", "value": twin}])
	found := v1.types with data.objects as stored with data.kinds as {"example.com/ColorPolicy": {}} with input as {}
	found["example.com/ColorPolicy"].names == ["colorpolicies", "cp", "paints"]
}

test_types_know_a_kind_that_a_change_brings if {
	change := {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
	found := v1.types with data.objects as _objects with data.kinds as {} with input as {"changes": {"upsert": [change]}}
	found["example.com/Widget"] == {"names": [], "policy": false}
}

test_names_are_the_keys_of_all_objects_of_the_types if {
	found := v1.names with data.objects as _objects with input as {"types": ["core/Service"]}
	found == ["core/Service/blog/cart", "core/Service/shop/cart", "core/Service/shop/catalog"]
}

test_names_can_be_those_of_one_name if {
	found := v1.names with data.objects as _objects with input as {"types": ["core/Service"], "name": "cart"}
	found == ["core/Service/blog/cart", "core/Service/shop/cart"]
}

test_names_can_have_their_sections if {
	query_input := {"types": ["core/Service"], "name": "cart", "sections": true}
	found := v1.names with data.objects as _objects with input as query_input
	found == ["core/Service/blog/cart", "core/Service/shop/cart", "core/Service/shop/cart#http"]
}

test_names_without_types_are_an_error if {
	found := v1.names with data.objects as _objects with input as {}
	found.error.code == "InvalidInput"
}

test_problems_of_all_objects_or_of_some if {
	lost := testing.color("shop", "lost", 1, [], {"theme": "dark"})
	gone := testing.color("shop", "gone", 1, [testing.ref("HTTPRoute", "gone")], {"theme": "dark"})
	all := v1.problems with input as testing.changed([lost, gone])
	[[problem.subject, problem.reason] | some problem in all] == [
		["example.com/ColorPolicy/shop/gone", "TargetNotFound"],
		["example.com/ColorPolicy/shop/lost", "Invalid"],
	]
	some_of := v1.problems with input as _query_input([lost, gone], {"objects": ["example.com/ColorPolicy/shop/lost", "core/Service/shop/none"], "skipMissing": true})
	[problem.subject | some problem in some_of] == ["example.com/ColorPolicy/shop/lost"]
}

test_the_problems_at_a_backend_are_those_of_the_routes_that_name_it_in_vain if {
	torn := testing.route("torn", [{"name": "public", "namespace": "infra"}], [{"backendRefs": [{"name": "cart", "port": 81}, {"name": "cart", "port": 80}]}])
	found := v1.problems with input as _query_input([torn], {"objects": ["core/Service/shop/cart"], "ancestors": true})
	[[one.subject, one.reason] | some one in found] == [["gateway.networking.k8s.io/HTTPRoute/shop/torn", "BackendNotFound"]]
	v1.problems with input as _query_input([torn], {"objects": ["core/Service/shop/cart"]}) == []
}

test_problems_of_a_policy_follow_from_the_tallies_of_the_caller if {
	warm := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	key := "example.com/ColorPolicy/shop/warm"
	overridden := {"ancestor": "", "targets": [testing.cart_route], "outcome": "Overridden", "by": ["infra/strict (Atomic overrides)"], "count": 2, "examples": ["a", "b"]}
	v1.problems with input as _query_input([warm], {"objects": [key]}) == []
	found := v1.problems with input as _query_input([warm], {"objects": [key], "tallies": {key: [overridden]}})
	[problem.reason | some problem in found] == ["Overridden"]
	without := v1.problems with input as _query_input([warm], {"objects": [key], "tallies": {}})
	[problem.reason | some problem in without] == ["NoScope"]
}

test_problems_of_no_keys_are_an_error if {
	found := v1.problems with input as _query_input([], {"objects": "all"})
	found.error.code == "InvalidInput"
}

test_route_and_listener_have_their_hostnames_in_the_picture if {
	route := object.union(
		testing.route("named", [{"name": "named", "namespace": "infra"}], []),
		{"spec": {"hostnames": ["shop.example.com"]}},
	)
	secure := object.union(testing.listener("secure", 443), {"hostname": "*.example.org"})
	keys := ["gateway.networking.k8s.io/HTTPRoute/shop/named", "gateway.networking.k8s.io/Gateway/infra/named"]
	found := _picture([route, testing.gateway("named", [testing.listener("plain", 80), secure])], keys)
	found[keys[0]].nodes[keys[0]].hostnames == ["shop.example.com"]
	found[keys[1]].nodes[sprintf("%s#secure", [keys[1]])].hostnames == ["*.example.org"]
	not found[keys[1]].nodes[sprintf("%s#plain", [keys[1]])].hostnames

	# Another listener accepts the route for the same parentRef.
	found[keys[0]].refused == []
}

test_link_of_an_extension_to_a_missing_listener_is_refused if {
	child := "core/Service/shop/cart"
	links := {"links": {["gateway.networking.k8s.io/Gateway/infra/public#gone", child]}}
	found := _tree([], {"refused": true}) with data.bridge.extensions.hierarchy as {"acme": links}
	[[link.reason, link.child] | some link in found.refused; contains(link.parent, "#gone")] == [["ParentNotFound", child]]
}
