package bridge.nearest_test

import data.bridge.nearest
import data.bridge.testing

_far(name, hostname, path) := object.union(
	testing.route(name, [{"name": "public", "namespace": "infra"}], [{"name": "all", "matches": [{"path": {"value": path}}]}]),
	{"spec": {"hostnames": [hostname]}},
)

_reached(query_input, objects) := found if {
	found := nearest.answer.nearest with input as object.union(query_input, {"changes": {"upsert": objects}})
}

_one_gateway := testing.gateway("public", [testing.listener("http", 80)])

test_without_a_gateway_nothing_is_reached if {
	_reached({"host": "shop.example.com"}, []).reason == "NoGateway"
	_reached({"host": "shop.example.com"}, []).message == "There is no Gateway"
}

test_gateways_that_the_user_may_not_read_are_not_called_missing if {
	route := testing.route("cart", [{"name": "edge", "namespace": "infra"}], [{"name": "all"}])
	named := object.union(route, {"spec": {"hostnames": ["shop.example.com"]}})
	found := nearest.answer.nearest with input as {"host": "shop.example.com", "changes": {"upsert": [named]}}
		with data.unread as {"gateway.networking.k8s.io/Gateway": []}
	[found.reason, found.message] == ["CannotTell", "You can't read the Gateways, so the rule that serves this request is unknown"]
	[[one.reason, one.message] | some one in found.candidates] == [["CannotTell", "may be attached: you can't read Gateway/infra/edge"]]
}

test_a_rule_that_the_user_may_not_read_may_serve_a_request if {
	found := nearest.answer with input as {"host": "shop.example.com", "path": "/x", "changes": {"upsert": [_one_gateway, _far("a", "shop.example.com", "/cart")]}}
		with data.unread as {"gateway.networking.k8s.io/HTTPRoute": ["shop"]}
	[found.nearest.reason, found.nearest.message, found.failure] == [
		"CannotTell", "No rule that you can read serves this request. No rule of the routes for shop.example.com matches", null,
	]
}

_filtered(name) := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{
	"name": "all",
	"filters": [{"type": "ExtensionRef", "extensionRef": {"group": "example.com", "kind": "Claims", "name": name}}],
}])

_served_by(objects, query_input) := answer if {
	answer := nearest.answer with input as object.union({"host": "a.test", "path": "/", "changes": {"upsert": objects}}, query_input)
}

test_a_filter_that_names_a_missing_object_fails_each_request if {
	claims := testing.resource("example.com/v1", "Claims", "shop", "tenant")
	missing := _served_by([_one_gateway, _filtered("tenent"), claims], {})
	missing.failure == {"status": "500", "message": "the filter ExtensionRef names Claims/shop/tenent, which does not exist"}
	every objects in [[_filtered("tenant"), claims], [_filtered("tenant")]] { # objects of an unread kind may exist
		_served_by(array.concat([_one_gateway], objects), {}).failure == null
	}
}

test_a_listener_whose_certificate_is_not_granted_accepts_no_connection if {
	listener := object.union(testing.listener("https", 443), {"protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert", "namespace": "vault"}]}})
	answering := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{"name": "all", "filters": [{"type": "RequestRedirect"}]}])
	world := [testing.gateway("public", [listener]), answering]
	_served_by(world, {"protocol": "HTTPS"}).failure == {
		"status": "TLS handshake fails",
		"message": "no ReferenceGrant in namespace vault lets Gateway/infra/public name Secret/vault/cert",
	}
	usable := object.union(listener, {"tls": {"certificateRefs": [{"name": "cert", "namespace": "vault"}, {"name": "own"}]}})
	_served_by([testing.gateway("public", [usable]), answering], {"protocol": "HTTPS"}).failure == null
	grant := testing.with_spec(testing.resource(testing.gateway_api, "ReferenceGrant", "vault", "certs"), {
		"from": [{"group": testing.gateway_group, "kind": "Gateway", "namespace": "infra"}],
		"to": [{"group": "", "kind": "Secret"}],
	})
	_served_by(array.concat(world, [grant]), {"protocol": "HTTPS"}).failure == null
}

test_routes_of_similar_hostnames_are_nearest_where_none_has_the_host if {
	found := _reached({"host": "chop.example.com"}, [_one_gateway, _far("a", "shop.example.com", "/"), _far("b", "example.org", "/")])
	found.reached == "Listener"
	[one.message | some one in found.candidates] == ["serves shop.example.com"]
}

test_rules_with_the_paths_that_are_most_alike_are_nearest if {
	routes := [_far("a", "shop.example.com", "/cart"), _far("b", "shop.example.com", "/else")]
	found := _reached({"host": "shop.example.com", "path": "/card"}, array.concat([_one_gateway], routes))
	found.reached == "Route"
	[one.node | some one in found.candidates] == ["gateway.networking.k8s.io/HTTPRoute/shop/a#all"]
}

_heavy := {"name": "a", "type": "RegularExpression", "value": "[a-k1]{1000}"}

_answer_of(matches) := found if {
	route := testing.with_spec(testing.resource(testing.gateway_api, "HTTPRoute", "shop", "odd"), {
		"parentRefs": [{"name": "public", "namespace": "infra"}],
		"hostnames": ["odd.example.com"],
		"rules": [{"name": "r", "matches": matches}],
	})
	query_input := {"host": "odd.example.com", "path": "/b", "headers": {"a": "x"}}
	found := nearest.answer with input as object.union(query_input, testing.changed([route]))
}

test_rule_with_a_heavy_pattern_is_undecided_unless_it_serves_the_request_anyway if {
	open := _answer_of([{"headers": [_heavy]}])
	[open.rule, open.nearest.reason] == [null, "CannotTell"]
	[entry.node | some entry in open.undecided] == ["gateway.networking.k8s.io/HTTPRoute/shop/odd#r"]
	served := _answer_of([{"headers": [_heavy]}, {"headers": [{"name": "a", "value": "x"}]}])
	[served.rule, served.undecided] == ["gateway.networking.k8s.io/HTTPRoute/shop/odd#r", []]
}

test_route_that_names_another_listener_is_told_apart_from_one_that_is_attached_there if {
	listeners := [testing.listener("http", 80), object.union(testing.listener("other", 81), {"allowedRoutes": {"namespaces": {"from": "Same"}}})]
	gateway := testing.gateway("two", listeners)
	route := testing.route("odd", [{"name": "two", "namespace": "infra", "sectionName": "other"}], [{"matches": [{"path": {"value": "/"}}]}])
	query_input := {"host": "odd.example.com", "port": 80, "gateway": "gateway.networking.k8s.io/Gateway/infra/two"}
	near := nearest.answer.nearest with input as object.union(query_input, testing.changed([gateway, route]))
	[[one.reason, one.message] | some one in near.candidates] == [["OtherListener", "names another listener, and is attached to none"]]
	open := json.patch(gateway, [{"op": "replace", "path": "/spec/listeners/1/allowedRoutes/namespaces/from", "value": "All"}])
	attached := nearest.answer.nearest with input as object.union(query_input, testing.changed([open, route]))
	[one.message | some one in attached.candidates] == ["is attached to Gateway/infra/two#other"]
}

test_entry_points_that_refuse_a_request_name_their_protocols_and_hosts if {
	gateway := testing.gateway("two", [testing.listener("http", 80)])
	query_input := {"host": "odd.example.com", "port": 81, "gateway": "gateway.networking.k8s.io/Gateway/infra/two"}
	near := nearest.answer.nearest with input as object.union(query_input, testing.changed([gateway]))
	near.message == "No listener accepts HTTP for odd.example.com on port 81"
	[[one.reason, one.message] | some one in near.candidates] == [["PortDiffers", "accepts HTTP on port 80 for any hostname"]]
}

test_route_for_grpc_is_nearest_to_a_request_that_is_no_call if {
	route := object.union(_far("calls", "calls.example.com", "/"), {"kind": "GRPCRoute", "spec": {"rules": [{}]}})
	near := _reached({"host": "calls.example.com"}, [_one_gateway, route])
	near.reason == "NoRoute"
	[[one.node, one.reason, one.message] | some one in near.candidates] == [[
		"gateway.networking.k8s.io/GRPCRoute/shop/calls",
		"ProtocolDiffers",
		"serves gRPC calls only",
	]]
}

test_route_of_the_host_that_nothing_accepts_is_named_first if {
	away := testing.with_hostnames(testing.route("away", [{"name": "gone", "namespace": "infra"}], [{"name": "all"}]), ["*.away.test", "a.away.test"])
	alone := testing.with_hostnames(testing.route("alone", [], [{"name": "all"}]), ["a.away.test"])
	gateway := testing.with_spec(testing.gateway("named", []), {
		"gatewayClassName": "example",
		"listeners": [object.union(testing.listener("http", 80), {"hostname": "b.test"})],
	})
	found := nearest.answer with input as object.union({"host": "a.away.test", "gateway": "gateway.networking.k8s.io/Gateway/infra/named"}, testing.changed([away, alone, gateway]))
	found.nearest.reason == "NoListener"
	[[one.node, one.message] | some one in found.nearest.candidates; one.reason == "NotAttached"] == [
		["gateway.networking.k8s.io/HTTPRoute/shop/alone", "is not attached: it names no parent"],
		["gateway.networking.k8s.io/HTTPRoute/shop/away", "is not attached: Gateway/infra/gone does not exist"],
	]
	none := nearest.answer with input as {"host": "a.away.test", "changes": {"upsert": [away]}}
	none.nearest.reason == "NoGateway"
	[one.node | some one in none.nearest.candidates] == ["gateway.networking.k8s.io/HTTPRoute/shop/away"]
	other := nearest.answer with input as object.union({"host": "a.other.test", "gateway": "gateway.networking.k8s.io/Gateway/infra/named"}, testing.changed([away, alone, gateway]))
	[one | some one in other.nearest.candidates; one.reason == "NotAttached"] == []
}

test_message_names_the_kinds_of_routes_that_could_serve_the_request if {
	calls := object.union(_far("calls", "calls.example.com", "/"), {"kind": "GRPCRoute", "spec": {"rules": [{}]}})
	_reached({"host": "calls.example.com"}, [_one_gateway, calls]).message == "No HTTPRoute for calls.example.com is attached to Gateway/infra/public#http"
	call := {"host": "none.example.com", "grpc": {"service": "a.B", "method": "C"}}
	_reached(call, [_one_gateway]).message == "No GRPCRoute or HTTPRoute for none.example.com is attached to Gateway/infra/public#http"
}

test_attached_route_without_rules_is_named_with_the_reason if {
	bare := object.union(_far("bare", "bare.example.com", "/"), {"spec": {"rules": []}})
	near := _reached({"host": "bare.example.com"}, [_one_gateway, bare])
	[near.reached, near.reason] == ["Route", "NoMatchingRule"]
	near.candidates == [{"node": "gateway.networking.k8s.io/HTTPRoute/shop/bare", "reason": "NoMatch", "message": "has no rules"}]
}

# Routes of another namespace name the Gateway, which does not accept them, at more paths than are examined.
test_attached_route_beyond_the_examined_paths_is_not_called_missing if {
	listener := object.union(testing.listener("http", 80), {"allowedRoutes": {"namespaces": {"from": "Same"}}})
	strangers := [_far(sprintf("stranger-%d", [number]), "many.example.com", sprintf("/%d", [number])) | some number in numbers.range(100, 130)]
	route := object.union(_far("own", "many.example.com", "/z"), {"metadata": {"namespace": "infra"}})
	near := _reached({"host": "many.example.com", "path": "/1"}, array.concat([testing.gateway("public", [listener]), route], strangers))
	[near.reached, near.reason] == ["Route", "NoMatchingRule"]
}
