package edge_test

import data.edge

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_secure := concat("", [_gateway, "#secure"])

_web := concat("", [_gateway, "#web"])

_route(name) := sprintf("gateway.networking.k8s.io/HTTPRoute/shop/%s", [name])

_listener(name) := {"gateway": _gateway, "specificity": [0, 0], "virtualHosts": false, "sharesHosts": true, "implementation": "Gateway API", "servesCallsByPath": false, "name": name, "kinds": {"other": "HTTPRoute", "GRPC": "GRPCRoute or HTTPRoute"}, "warnings": [], "unserved": {"other": {"status": "404", "message": "no rule matches"}, "GRPC": {"status": "UNIMPLEMENTED", "message": "no rule matches"}}}

_rule(name) := {"failure": {"other": null, "GRPC": null}, "answer": {
	"gateway": _gateway, "listener": _web, "route": _route(name), "rule": sprintf("%s#r", [_route(name)]),
	"backends": [], "filters": [], "filterBackends": [], "policies": [], "nearest": null, "undecided": [],
}}

_match(name, rank, more) := {sprintf("%s#0/0", [_route(name)]): object.union(
	{"rank": rank, "otherRank": rank, "rule": sprintf("%s#0", [_route(name)]), "exact": [], "ends": [], "present": [], "patterns": [], "patterned": false, "warnings": []},
	more,
)}

_pattern(expression, weight) := {"patterned": true, "patterns": [[["path"], expression, weight]]}

_orders := [[[0, 0], 0, _secure, 443, "TLS"], [[0, 0], 1, _web, 80, "HTTP"]]

_answers := {
	"kinds": {"active": ["example.com/A", "example.com/B"], "in_use": ["example.com/A"]},
	"targets": {_gateway: [[_web, "example.com/A"], [_web, "example.com/B"]], _web: [[_web, "example.com/A"]], "core/Service/shop/cart": []},
	"rows": {_web: {"example.com/A": [1], "example.com/B": [2]}},
	"entries": {_gateway: {"default": {"*": _orders}, "HTTP": {"*": [_orders[1]]}, "TLS": {"*": []}, "TCP": {"*": [[[0, 0], 3, _web, 90, "TCP"]]}}},
	"listeners": {_secure: _listener("Gateway/infra/public#secure"), _web: _listener("Gateway/infra/public#web")},
	"hosts": {_web: {"any": {"shop.example.com": true, "*.example.com": true, "odd.org": true, "many.org": true}, "GRPC": {"shop.example.com": true}}},
	"matches": {_web: {
		"any": {
			"shop.example.com": {
				"=/exact": _match("exact", [[-16, -16], 1, 0], {}),
				"/cart/": _match("post", [[-16, -16], 1, 1], {"exact": [[["method"], "POST"]], "present": [["headers", "a"]]}),
			},
			"*.example.com": {"/": _match("any", [[0, -13], 1, 1], {})},
			"odd.org": {"*": object.union(
				_match("open", [[-7, -7], 1, 0], {"unknown": "too heavy", "patterned": true}),
				_match("pattern", [[-7, -7], 1, 2], _pattern("^(?:/a+)$", 5)),
			)},
			"many.org": {"*": _match("heavy", [[-8, -8], 1, 2], _pattern("^(?:/a+)$", 300000))},
		},
		"GRPC": {"shop.example.com": {"shop.Cart": _match("call", [-16, -16, 0, -9, 0, 0], {
			"patterned": true,
			"patterns": [[["rpc"], "^(?:A.*)$", 5]],
			"countedIn": ["rank", "otherRank"],
			"counted": [[["service"]], [["rpc"]]],
		})}},
	}},
	"rules": {_web: {sprintf("%s#0", [_route(name)]): _rule(name) | some name in ["exact", "post", "any", "open", "pattern", "heavy", "call"]}},
}

_asked(query, query_input) := found if {
	query == "effective"
	found := edge.effective with input as query_input
		with data.bridge_answers as _answers
		with data.bridge_view as {"name": "v"}
}

_asked(query, query_input) := found if {
	query == "request"
	found := edge.request with input as query_input
		with data.bridge_answers as _answers
		with data.bridge_view as {"name": "v"}
}

test_effective_looks_up_targets_and_those_below if {
	_asked("effective", {"targets": [_web]}) == [{"target": _web, "policyKind": "example.com/A", "paths": [1]}]
	[one.paths | some one in _asked("effective", {"targets": [_gateway, _web]})] == [[1], [2]]
	[one.paths | some one in _asked("effective", {"targets": [_gateway], "policyKind": "example.com/B"})] == [[2]]
	_asked("effective", {"targets": ["core/Service/shop/cart"]}) == []
}

test_an_unanswerable_query_is_an_error_with_its_reason if {
	_asked("effective", {"targets": ["core/Service/shop/x"]}).error.code == "NotInView"
	_asked("effective", {"targets": ["x"]}).error.code == "InvalidInput"
	_asked("effective", {"targets": 1}).error.code == "InvalidInput"
	_asked("effective", {}).error.code == "InvalidInput"
	_asked("effective", {"targets": [_web], "policyKind": "x"}).error.code == "UnknownPolicyKind"
	_asked("effective", {"targets": [_web], "changes": {}}).error == {
		"code": "NeedsObjects",
		"message": "`changes` needs a view with content objects: v has content effective",
	}
	_asked("request", {"host": "a", "gateway": "core/Service/shop/cart@frontend"}).error.code == "NeedsObjects"
	_asked("request", {"host": "a", "gateway": "core/Service/shop/cart"}).error.code == "InvalidInput"
	_asked("request", {"host": "a", "gateway": "gateway.networking.k8s.io/Gateway/infra/x"}).error.code == "NotInView"
	_asked("request", {"host": "a/b"}).error.code == "InvalidInput"
	_asked("request", {"host": "a", "hosts": "b"}).error.message == "the input has an unknown field, hosts; did you mean \"host\"?"
	_asked("effective", {"targets": [_web], "target": _web}).error.message == "the input has an unknown field, target; did you mean \"targets\"?"
	edge.request.error.code == "NotInView" with input as {"host": "a"}
		with data.bridge_answers as {"kinds": {"active": [], "in_use": []}, "entries": {}}
		with data.bridge_view as {"name": "v"}
	for_clients := ["explain", "impact", "problems", "status", "tree"]
	for_commands := ["constraints", "kinds_in_force", "policies", "refused_policykinds", "resource_versions", "scopes", "types"]
	codes := {edge[query].error.code | some query in array.concat(for_clients, for_commands)} with data.bridge_view as {"name": "v"}
	codes == {"NeedsObjects"}
}

_served(query_input) := split(_asked("request", object.union({"gateway": _gateway}, query_input)).route, "/")[3]

test_the_best_match_serves_a_request if {
	_served({"host": "shop.example.com", "path": "/exact"}) == "exact"
	_served({"host": "shop.example.com", "path": "/exact/"}) == "any"
	_served({"host": "shop.example.com", "path": "/cart/x", "method": "POST", "headers": {"a": "b"}}) == "post"
	_served({"host": "shop.example.com", "path": "/cart/x", "method": "POST"}) == "any"
	_served({"host": "shop.example.com", "grpc": {"service": "shop.Cart", "method": "Add"}}) == "call"
}

test_more_specific_hostnames_are_a_warning_and_other_listeners_are_named if {
	found := _asked("request", {"host": "shop.example.com", "path": "/x"})
	[one.reason | some one in found.warnings] == ["MoreSpecificHostname"]
	[one.listener | some one in found.also] == [_secure]
}

test_heavy_patterns_leave_the_rule_undecided if {
	open := _asked("request", {"gateway": _gateway, "host": "odd.org", "path": "/aa"})
	[one.node | some one in open.undecided] == [sprintf("%s#r", [_route("open")])]
	open.nearest.reason == "CannotTell"
	many := _asked("request", {"gateway": _gateway, "host": "many.org", "path": "/aa"})
	contains(many.undecided[0].message, "too many to compile")
}

test_requests_that_no_rule_serves_say_how_far_they_get if {
	unmatched := _asked("request", {"host": "odd.org", "path": "/b", "headers": {}, "port": 80, "protocol": "HTTP"})
	unmatched.route == null
	_asked("request", {"gateway": _gateway, "host": "none.example.org"}).nearest == {
		"reached": "Listener", "reason": "NoRoute", "candidates": [],
		"message": "No HTTPRoute for none.example.org is attached to Gateway/infra/public#secure",
	}
	_asked("request", {"sni": "a.org"}).nearest.reason == "NoListener"
	_asked("request", {"port": 90}).failure.status == "404"
	_asked("request", {"gateway": _gateway, "host": "shop.example.com", "grpc": {"service": "a", "method": "b"}, "path": "relative"}).error.code == "InvalidInput"
}
