package bridge.hierarchy_test

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.testing
import data.bridge.v1

_paths_kind := "example.com/PoolPolicy"

_pool_kind := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend"})

_listeners(number) := [testing.listener(sprintf("l%d", [port]), port) | some port in numbers.range(1, number)]

# Three listeners, two routes, one of which names the Service in two rules: nine paths.
_crowd := [
	_pool_kind,
	testing.gateway("wide", _listeners(3)),
	testing.service("many", []),
	testing.route("a", [{"name": "wide", "namespace": "infra"}], [{"backendRefs": [{"name": "many"}]}, {"backendRefs": [{"name": "many"}]}]),
	testing.route("b", [{"name": "wide", "namespace": "infra"}], [{"backendRefs": [{"name": "many"}, {"name": "many", "port": 1}]}]),
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
		entry.error.message == "More than 8 paths lead to this target, or longer ones than 16 objects"
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
	query_input := _crowded([_pool("own", [testing.service_ref("many")])], {"keys": [_many], "was": {}, "observed": true})
	within := v1.remediation with input as query_input with hierarchy.paths_bound as 20
	above := v1.remediation with input as query_input with hierarchy.paths_bound as 8
	count(within.outcomes[_paths_kind][_many]) == 9
	above.scopes[_paths_kind] == [_many]
	not above.outcomes
}
