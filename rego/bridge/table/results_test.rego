package bridge.table_test

import data.bridge.hierarchy
import data.bridge.table
import data.bridge.testing

test_a_backend_is_reached_once_and_only_if_requests_get_through if {
	table.reachable_backends([
		{"backend": "acme.io/Bucket/shop/files", "target": "acme.io/Bucket/shop/files", "problem": null},
		{"backend": "core/Service/shop/gone", "target": "core/Service/shop/gone#http", "problem": {"reason": "BackendNotFound"}},
		{"backend": "core/Service/shop/cart", "target": "core/Service/shop/cart#http", "problem": null},
		{"backend": "core/Service/shop/cart", "target": "core/Service/shop/cart#admin", "problem": null},
	]) == ["acme.io/Bucket/shop/files", "core/Service/shop/cart", "core/Service/shop/cart#http", "core/Service/shop/cart#admin"]
}

_failure(filters, destinations) := _guarded_failure(filters, destinations, [])

_guarded_failure(filters, destinations, filter_destinations) := table.failure({"filters": filters}, destinations, filter_destinations)

test_rule_without_a_backend_that_gets_requests_fails if {
	_failure([], []) == "the rule has no backends, and no filter that answers requests"
	every destination in [{"problem": null, "weight": 0}, {"problem": {"reason": "BackendNotFound"}, "weight": 1}] {
		_failure([], [destination]) == "no backend of the rule gets requests: each has the weight 0, or fails"
		_failure([{"type": "URLRewrite"}], [destination]) == "no backend of the rule gets requests: each has the weight 0, or fails"
		_failure([{"type": "RequestRedirect"}], [destination]) == null
		_failure([{"type": "ExtensionRef"}], [destination]) == null
		_failure([], [destination, {"problem": null, "weight": 1}]) == null
	}
}

_authorization := {"filter": "ExternalAuth", "place": "filters[0]", "problem": {"reason": "BackendNotFound"}}

_open := {"problem": null, "weight": 1, "filters": []}

test_rule_with_authorization_without_a_backend_fails_closed if {
	filters := [{"type": "ExternalAuth"}, {"type": "RequestRedirect"}]
	_guarded_failure(filters, [_open], [_authorization]) == "the filter ExternalAuth has no backend, and fails closed"
	_guarded_failure(filters, [_open], [object.union(_authorization, {"problem": null})]) == null
	_guarded_failure(filters, [_open], [object.union(_authorization, {"filter": "RequestMirror"})]) == null
}

test_backend_with_authorization_without_a_backend_gets_no_requests if {
	guarded := object.union(_open, {"filters": [{"type": "ExternalAuth"}]})
	closed := object.union(_authorization, {"place": "backendRefs[1].filters[0]"})
	_guarded_failure([], [_open, guarded], [closed]) == null
	_guarded_failure([], [object.union(_open, {"weight": 0}), guarded], [closed]) == "no backend of the rule gets requests: each has the weight 0, or fails"
}

test_backends_that_a_request_reaches_are_those_below_the_rule if {
	mirror := {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "cart", "port": 9000}}}
	refs := [
		{"name": "cart", "port": 80}, {"name": "cart", "port": 99}, {"name": "cart"}, {"name": "gone", "port": 80}, {"name": "far", "namespace": "infra", "port": 80},
		{"name": "udp", "port": 53}, {"group": "acme.io", "kind": "Bucket", "name": "files"}, {"group": "acme.io", "kind": "Bucket", "name": "lost"},
	]
	objects := [
		testing.route("many", [{"name": "public", "namespace": "infra"}], [{"name": "all", "filters": [mirror], "backendRefs": refs}]),
		object.union(testing.service("far", [{"port": 80}]), {"metadata": {"namespace": "infra"}}),
		testing.service("udp", [{"port": 53, "protocol": "UDP"}]),
		testing.resource("acme.io/v1", "Bucket", "shop", "files"),
	]
	route := "gateway.networking.k8s.io/HTTPRoute/shop/many"
	below := hierarchy.backends_reached(concat("#", [route, "all"])) with input as testing.changed(objects)
	results := table.results_of("gateway.networking.k8s.io/Gateway/infra/public#http", route, 0) with input as testing.changed(objects)
	{node | some node in table.reachable_backends(array.concat(results.backends, results.filterBackends))} == below
	{"core/Service/shop/cart", "core/Service/shop/cart#http", "acme.io/Bucket/shop/files"} - below == set()
}
