package bridge.index_test

import data.bridge.index
import data.bridge.testing

_served_of(rules) := {path |
	some entry in index.entries(testing.route("cart", [{"name": "public", "namespace": "infra"}], rules))
	["served", _, "*", path] = entry.path
}

test_a_route_is_found_by_the_paths_that_it_matches if {
	_served_of([{"matches": [{"path": {"type": "PathPrefix", "value": "/a/b/"}}, {"path": {"type": "Exact", "value": "/c"}}]}, {}]) == {
		"/a/b",
		"/c",
		"/",
	}
	_served_of([{"matches": [{"path": {"type": "RegularExpression", "value": "/a.*"}}]}]) == {"*"}
}

# The index of one route stays small.
test_a_route_with_many_paths_is_found_by_their_first_segments if {
	_served_of([{"matches": [{"path": {"value": sprintf("/a/%d", [number])}}]} | some number in numbers.range(1, 17)]) == {"/a"}
	_served_of([{"matches": [{"path": {"value": sprintf("/%d", [number])}}]} | some number in numbers.range(1, 17)]) == {"*"}
}

test_route_with_many_parents_and_hostnames_is_found_by_its_hostnames_alone if {
	refs := [{"name": sprintf("g%d", [number])} | some number in numbers.range(1, 20)]
	rules := [{"matches": [{"path": {"value": sprintf("/%d", [number])}}]} | some number in numbers.range(1, 8)]
	route := object.union(testing.route("wide", refs, rules), {"spec": {"hostnames": [name |
		some number in numbers.range(1, 16)
		name := sprintf("h%d.example.com", [number])
	]}})
	served := [entry.path | some entry in index.entries(route); entry.path[0] == "served"]
	count(served) == 320
	{path[3] | some path in served} == {"*"}
}

test_a_route_of_calls_is_found_by_service_and_method if {
	route := object.union(
		testing.route("rpc", [{"name": "public", "namespace": "infra"}], [{"matches": [
			{"method": {"service": "shop.Cart", "method": "Add"}},
			{"method": {"service": "shop.Order"}},
			{"method": {"method": "List"}},
		]}]),
		{"kind": "GRPCRoute", "spec": {"hostnames": ["WWW.example.com"]}},
	)
	{[entry.path[2], entry.path[3]] | some entry in index.entries(route); entry.path[0] == "served"} == {
		["www.example.com", "/shop.Cart/Add"],
		["www.example.com", "/shop.Order"],
		["www.example.com", "*"],
	}
}

_parent := "gateway.networking.k8s.io/Gateway/infra/public"

_home := "gateway.networking.k8s.io/HTTPRoute/shop"

_route(name) := sprintf("%s/%s", [_home, name])

_served := {_parent: {_home: {
	"shop.example.com": {"/": {_route("a"): true}, "/cart": {_route("b"): true}, `/c+\E`: {_route("c"): true}},
	"*": {"*": {_route("d"): true}},
}}}

_added := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"namespace": "shop", "name": "b"},
	"spec": {
		"parentRefs": [{"name": "public", "namespace": "infra"}],
		"hostnames": ["blog.example.com"],
		"rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/posts"}}]}],
	},
}

test_routes_are_found_by_parent_hostname_and_path if {
	found := index.routes_serving(_parent, "shop.example.com", "/cart") with data.index.served as _served
	found == {_route("b")}
	nothing := index.routes_serving("core/Service/shop/cart@frontend", "*", "*") with data.index.served as _served
	nothing == set()
}

test_a_changed_route_is_found_where_it_would_be if {
	was := index.routes_serving(_parent, "shop.example.com", "/cart") with data.index.served as _served
		with input as {"changes": {"upsert": [_added]}}
	is := index.routes_serving(_parent, "blog.example.com", "/posts") with data.index.served as _served
		with input as {"changes": {"upsert": [_added]}}
	[was, is] == [set(), {_route("b")}]
	names := index.served_names(_parent) with data.index.served as _served with input as {"changes": {"upsert": [_added]}}
	names == {"*", "blog.example.com", "shop.example.com"}
	paths := index.some_served_paths(_parent, "blog.example.com", "/p", 5) with data.index.served as _served
		with input as {"changes": {"upsert": [_added]}}
	paths == ["/posts"]
}

test_hostnames_are_found_by_their_ending_and_paths_by_their_beginning if {
	names := index.some_served_names(_parent, "example.com", 5) with data.index.served as _served
	names == ["shop.example.com"]
	paths := index.some_served_paths(_parent, "shop.example.com", "/c", 5) with data.index.served as _served
	paths == [`/c+\E`, "/cart"]
	one := index.some_served_paths(_parent, "shop.example.com", "", 1) with data.index.served as _served
	one == ["/"]
}

test_searched_text_is_no_pattern if {
	every pair in [[".", []], ["/c+", [`/c+\E`]], [`/c+\E`, [`/c+\E`]], ["(", []]] {
		found := index.some_served_paths(_parent, "shop.example.com", pair[0], 5) with data.index.served as _served
		found == pair[1]
	}
}
