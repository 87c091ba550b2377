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
