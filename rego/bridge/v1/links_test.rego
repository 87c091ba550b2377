package bridge.v1_test

import data.bridge.kinds
import data.bridge.testing
import data.bridge.v1

test_links_are_reported_by_object_where_there_are_any if {
	found := v1.links with input as {"objects": [_warm, testing.resource("v1", "Namespace", "", "shop")]}
	found == {_warm_key: {"entries": {
		{"path": ["attached", "example.com/ColorPolicy", testing.cart_route], "value": true},
		{"path": ["targeted", testing.cart_route], "value": true},
	}}}
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

_neighbors(key, more) := found if {
	found := v1.neighbors with input as object.union({"keys": [key]}, more) with data.objects as {} with data.index as {}
}

_neighboring_route := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "cart", "namespace": "shop"},
	"spec": {
		"parentRefs": [{"name": "public", "namespace": "infra"}],
		"rules": [{"backendRefs": [{"name": "cart", "port": 80}]}],
	},
}

test_route_is_a_neighbor_of_its_gateway_and_of_its_backend_though_neither_exists if {
	changes := {"changes": {"upsert": [_neighboring_route]}}
	route := "gateway.networking.k8s.io/HTTPRoute/shop/cart"
	route in _neighbors("gateway.networking.k8s.io/Gateway/infra/public", changes)
	route in _neighbors("core/Service/shop/cart", changes)
	not route in _neighbors("core/Service/shop/basket", changes)
}

test_a_grant_has_the_objects_on_both_of_its_sides_as_neighbors if {
	rules := [{"backendRefs": [{"name": "stock", "namespace": "blog", "port": 80}, {"name": "cart", "port": 80}]}]
	far := object.union(_neighboring_route, {"spec": {"rules": rules}})
	grant := "gateway.networking.k8s.io/ReferenceGrant/blog/grant"
	_neighbors(grant, {"changes": {"upsert": [far]}}) == [
		"core/Service/blog/stock",
		"gateway.networking.k8s.io/HTTPRoute/shop/cart",
	]
}

# P7: a route leads from the class to the Service, so the link of an extension from the Service to the class is refused.
test_a_route_in_a_cycle_has_the_lower_end_of_the_link_that_closes_it_as_a_neighbor if {
	found := [key |
		some service in ["core/Service/shop/cart", "core/Service/shop/elsewhere"]
		some key in _neighbors_beside(service)
		startswith(key, "gateway.networking.k8s.io/GatewayClass/")
	]
	found == [_example_class]
}

_neighbors_beside(service) := found if {
	found := v1.neighbors with input as {"keys": [testing.cart_route]}
		with data.objects as testing.stored(testing.world)
		with data.index as _with_a_link_up(testing.world, service)
}

test_an_object_has_the_lower_ends_of_links_between_others_as_neighbors if {
	links := {"links": {["acme.io/Zone/infra/a", "acme.io/Zone/infra/b"]}}
	plan := testing.resource("acme.io/v1", "Plan", "ops", "p")
	found := _neighbors("acme.io/Plan/ops/p", {"changes": {"upsert": [plan]}}) with data.bridge.extensions.hierarchy as {"acme": links}
	found == ["acme.io/Zone/infra/b"]
}

test_keys_that_are_not_a_list_are_an_error if {
	answer := v1.neighbors with input as {"keys": 5}
	answer.error.code == "InvalidInput"
}

_held_service(version) := {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "resourceVersion": version}}

_held_objects := {"core": {
	"Service": {"shop": {"a": _held_service("1"), "b": _held_service("2")}, "infra": {"c": {"metadata": {"name": "c"}}}},
	"Namespace": {"-": {"shop": _held_service("3")}},
}}

test_held_gives_the_version_of_every_object if {
	v1.resource_versions == {"core": {
		"Service": {"shop": {"a": "1", "b": "2"}, "infra": {"c": ""}},
		"Namespace": {"-": {"shop": "3"}},
	}} with data.objects as _held_objects
}

test_no_versions_are_stored_before_an_initial_sync if {
	v1.resource_versions == {} with data.objects as {}
}

test_linked_counts_the_entries_of_each_part if {
	v1.index_sizes == {"parents": 3, "children": 0, "own": 2, "extended": 3, "referrers": 3, "served": 2} with data.index as {
		"parents": {"g/X/n": {"x": {"g/A/n": {"a": [], "b": false}}, "y": {"g/A/n": {"a": []}}}},
		"children": {},
		"own": {"parents": {"g/X/n": {"x": []}}, "children": {"g/X/n": {"x": []}}},
		"extended": {"x": {"a": [], "b": false}, "y": {"a": []}},
		"served": {"x": {"g/A/m": {"*": {"/": {"a": true, "b": true}}}}},
		"referrers": {"n": {"g/A/m": {"a": true, "b": true}, "g/B/m": {"a": true}}},
	}
}

test_linked_counts_each_policy_at_a_target_and_by_a_selector if {
	v1.index_sizes == {"attached": 3, "selectors": 2, "limited": 1, "claims": 2} with data.index as {
		"attached": {"example.com/P": {"x": {"p": true, "q": true}, "y": {"p": true}}},
		"selectors": {"shop": {"core/Service": {"{}": {"p": true, "q": true}}}},
		"limited": {"example.com/P": {"p": true}},
		"claims": {"g/Gateway/n/a": {"80": {"HTTP/*": {"g/ListenerSet/n/s": true, "g/ListenerSet/n/t": true}}}},
	}
}

_linked_route := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "cart", "namespace": "shop"},
	"spec": {"parentRefs": [{"name": "public"}], "hostnames": [], "rules": [{
		"name": "a",
		"matches": [{"path": {"value": "/"}, "method": "GET"}],
		"filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "mirror"}}}],
		"backendRefs": [{
			"group": "",
			"kind": "Service",
			"name": "cart",
			"namespace": "shop",
			"filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "shadow"}}}],
		}],
	}]},
}

_linked_grpc_route := object.union(_linked_route, {"kind": "GRPCRoute", "spec": {"rules": [{"matches": [{"method": {"service": "a"}}]}]}})

_linked_gateway := testing.gateway("public", [testing.listener("http", 80)])

_linked_listener_set := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "ListenerSet",
	"metadata": {"name": "more", "namespace": "shop"},
	"spec": {"parentRef": {"name": "public"}, "listeners": []},
}

_external := {"type": "ExternalAuth", "externalAuth": {"backendRef": {"name": "auth"}}}

_links_of(obj) := found if {
	found := v1.links with input as object.union({"objects": [obj]}, testing.changed([_warm]))
}

# A change of a field changes the links of an object, so a client must send the field.
test_fields_that_change_links_are_link_fields if {
	every row in [
		[_linked_route, "/kind", "TCPRoute", "/kind"],
		[_linked_route, "/apiVersion", "acme.io/v1", "/apiVersion"],
		[_linked_route, "/metadata/name", "other", "/metadata/name"],
		[_linked_route, "/metadata/namespace", "other", "/metadata/namespace"],
		[_warm, "/metadata/creationTimestamp", "2030-01-01T00:00:00Z", "/metadata/creationTimestamp"],
		[_warm, "/metadata/deletionTimestamp", "2030-01-01T00:00:00Z", "/metadata/deletionTimestamp"],
		[
			_linked_route, "/metadata/labels", {"delegation.kgateway.dev/label": "team"},
			"/metadata/labels/delegation.kgateway.dev~1label",
		],
		[_linked_gateway, "/spec/defaultScope", "All", "/spec/defaultScope"],
		[_linked_gateway, "/spec/gatewayClassName", "other", "/spec/gatewayClassName"],
		[_linked_gateway, "/spec/listeners/0/port", 81, "/spec/listeners"],
		[_linked_listener_set, "/spec/parentRef/name", "other", "/spec/parentRef"],
		[_linked_route, "/spec/hostnames", ["shop.example.com"], "/spec/hostnames"],
		[_linked_route, "/spec/parentRefs/0/name", "other", "/spec/parentRefs"],
		[_linked_route, "/spec/useDefaultGateways", "All", "/spec/useDefaultGateways"],
		[_linked_route, "/spec/rules/0/name", "b", "/spec/rules/*/name"],
		[_linked_route, "/spec/rules/0/matches/0/path/value", "/a", "/spec/rules/*/matches/*/path"],
		[_linked_grpc_route, "/spec/rules/0/matches/0/method/service", "b", "/spec/rules/*/matches/*/method"],
		[_linked_route, "/spec/rules/0/filters/0/type", "URLRewrite", "/spec/rules/*/filters/*/type"],
		[_linked_route, "/spec/rules/0/filters/0/requestMirror/backendRef/name", "b", "/spec/rules/*/filters/*/requestMirror/backendRef"],
		[_linked_route, "/spec/rules/0/filters/0", _external, "/spec/rules/*/filters/*/externalAuth/backendRef"],
	] {
		[obj, pointer, value, field] := row
		_links_of(obj) != _links_of(json.patch(obj, [{"op": "add", "path": pointer, "value": value}]))
		field in v1.link_fields
	}
	every row in [
		["group", "acme.io"], ["kind", "Bucket"], ["name", "other"], ["namespace", "other"],
		["filters/0/type", "URLRewrite"], ["filters/0/requestMirror/backendRef/name", "other"],
		["filters/0", _external],
	] {
		[field, value] := row
		changed := json.patch(_linked_route, [
			{"op": "remove", "path": "/spec/rules/0/filters"},
			{"op": "add", "path": concat("/", ["/spec/rules/0/backendRefs/0", field]), "value": value},
		])
		_links_of(json.patch(_linked_route, [{"op": "remove", "path": "/spec/rules/0/filters"}])) != _links_of(changed)
	}
	fields := {
		"group", "kind", "name", "namespace",
		"filters/*/type", "filters/*/requestMirror/backendRef", "filters/*/externalAuth/backendRef",
	}
	every field in fields {
		concat("/", ["/spec/rules/*/backendRefs/*", field]) in v1.link_fields
	}
	every field in ["targetRef", "targetRefs", "targetSelectors"] {
		{"with": concat("/", ["/spec", field])} in v1.link_fields
	}
}

_view_of(query_input) := found if {
	kinds_there := kinds.active_kinds with data.objects as testing.stored(testing.world)
	found := v1.view with data.objects as testing.stored(testing.world)
		with data.index as testing.stored_index(testing.world)
		with data.kinds as kinds_there
		with input as query_input
}

test_view_of_a_gateway_has_the_objects_below_and_above_it if {
	found := _view_of({"roots": ["gateway.networking.k8s.io/Gateway/infra/public"], "types": []})
	some key in found.keys
	startswith(key, "gateway.networking.k8s.io/HTTPRoute/")
	some above in object.keys(found.objects)
	startswith(above, "gateway.networking.k8s.io/GatewayClass/")
	object.keys(found.links) & object.keys(found.objects) == object.keys(found.links)
}

test_view_of_namespaces_begins_at_those_that_the_selector_selects if {
	selector := json.marshal({"matchLabels": {"kubernetes.io/metadata.name": "shop"}})
	_view_of({"roots": [], "types": [], "namespaceSelector": selector}).roots == {"core/Namespace/-/shop"}
}

test_view_of_missing_objects_has_no_roots if {
	_view_of({"roots": ["gateway.networking.k8s.io/Gateway/infra/gone"], "types": []}).roots == set()
	_view_of({"types": []}).error.code == "InvalidInput"
	_view_of({"roots": []}).error.code == "InvalidInput"
}
