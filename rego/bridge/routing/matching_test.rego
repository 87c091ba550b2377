package bridge.routing_test

import data.bridge.routing
import data.bridge.testing

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_route_key(name) := sprintf("gateway.networking.k8s.io/HTTPRoute/shop/%s", [name])

# The hub's table: the route has one match.
_serves(match, query_input) if _hub_rule(match, query_input) == sprintf("%s#r", [_route_key("one")])

_hub_rule(match, query_input) := answer.rule if {
	route := testing.route("one", [{"name": "public", "namespace": "infra"}], [{"name": "r", "matches": [match]}])
	answer := routing.answer with input as object.union(query_input, {"host": "a.test", "changes": {"upsert": [testing.gateway("public", [testing.listener("http", 80)]), route]}})
}

test_exact_paths_prefixes_and_patterns_of_the_hub if {
	_serves({"path": {"type": "Exact", "value": "/a"}}, {"path": "/a"})
	not _serves({"path": {"type": "Exact", "value": "/a"}}, {"path": "/a/"})
	_serves({"path": {"type": "PathPrefix", "value": "/a"}}, {"path": "/a/b"})
	_serves({"path": {"type": "PathPrefix", "value": "/a/"}}, {"path": "/a"})
	not _serves({"path": {"type": "PathPrefix", "value": "/a"}}, {"path": "/ab"})
	_serves({"path": {"type": "PathPrefix", "value": "/"}}, {"path": "/ab"})
	_serves({"path": {"type": "RegularExpression", "value": "/a+"}}, {"path": "/aa"})
	not _serves({"path": {"type": "RegularExpression", "value": "/a+"}}, {"path": "/aab"})
	not _serves({"path": {"type": "RegularExpression", "value": "/(?!a)"}}, {"path": "/b"})
	_serves({}, {"path": "/a"})
}

test_of_values_with_one_name_the_first_one_is_compared if {
	match := {"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]}
	_serves(match, {"headers": {"x-A": ["1"]}})
	not _serves({"queryParams": [{"name": "A", "value": "1"}]}, {"query": {"a": "1"}})
	_serves({"queryParams": [{"name": "a", "value": "1"}]}, {"query": {"a": ["1", "2"]}})
	not _serves({"queryParams": [{"name": "a", "value": "[0-9]", "type": "RegularExpression"}]}, {"query": {"a": "x"}})
}

# A table as an edge has it, without objects.
_secure := concat("", [_gateway, "#secure"])

_web := concat("", [_gateway, "#web"])

_listener(name) := {
	"gateway": _gateway, "protocol": "HTTP", "specificity": [0, 0], "name": name, "warnings": [],
	"implementation": {"name": "Gateway API", "virtualHosts": false, "precedence": "Gateway API"},
}

_match(name, rank, more) := {sprintf("%s#0/0", [_route_key(name)]): object.union(
	{"route": _route_key(name), "place": "0", "ranks": {"Gateway API": rank}, "conditions": [], "patterns": []},
	more,
)}

_pattern(expression, weight) := {"patterns": [[["path"], expression, weight]]}

_orders := [[[0, 0], 0, _secure, 443, "TLS"], [[0, 0], 1, _web, 80, "HTTP"]]

_names := ["exact", "post", "any", "open", "pattern", "heavy", "call", "every-call"]

_table := {
	"entries": {_gateway: {"default": {"*": _orders}, "HTTP": {"*": [_orders[1]]}, "TLS": {"*": []}, "TCP": {"*": [[[0, 0], 3, _web, 90, "TCP"]]}}},
	"listeners": {_secure: object.union(_listener("Gateway/infra/public#secure"), {"port": 443}), _web: _listener("Gateway/infra/public#web")},
	"hosts": {_web: {"any": {"shop.example.com": true, "*.example.com": true, "odd.org": true, "many.org": true}, "GRPC": {"shop.example.com": true}}},
	"matches": {_web: {
		"any": {
			"shop.example.com": {
				"=/exact": _match("exact", [1, [0, -6, 0, 0, 0], 0, "exact", 0], {}),
				"/cart/": _match("post", [1, [1, -5, -1, -1, 0], 0, "post", 0], {"conditions": [[["method"], "Exact", "POST"], [["headers", "a"], "Present", "b+"]]}),
			},
			"*.example.com": {"/": _match("any", [1, [1, 0, 0, 0, 0], 0, "any", 0], {})},
			"odd.org": {"*": object.union(
				_match("open", [1, [2, -2, 0, 0, 0], 0, "open", 0], {"heavy": "too heavy"}),
				_match("pattern", [1, [2, -1, 0, 0, 0], 0, "pattern", 0], _pattern("^(?:/a+)$", 5)),
			)},
			"many.org": {"*": _match("heavy", [1, [2, -1, 0, 0, 0], 0, "heavy", 0], _pattern("^(?:/a+)$", 300000))},
		},
		"GRPC": {"shop.example.com": object.union(
			{"shop.Cart": _match("call", [0, [-9, -1, 0, {"RegularExpression"}], 0, "call", 0], {
				"patterns": [[["rpc"], "^(?:A.*)$", 5]],
				"counted": [["service"], ["rpc"]],
			})},
			{"*": _match("every-call", [0, [0, -3, 0, {"Exact"}], 0, "every-call", 0], {"conditions": [[["rpc"], "Exact", "Add"]]})},
		)},
	}},
	"rules": {_web: {_route_key(name): {"0": {"gateway": _gateway, "listener": _web, "route": _route_key(name), "rule": sprintf("%s#r", [_route_key(name)])}} | some name in _names}},
	"served": {_web: {_route_key(name): {"0": {"backends": [], "filters": [], "filterBackends": [], "policies": [], "failure": null}} | some name in _names}},
}

_asked(query_input) := found if {
	found := routing.answer with input as query_input with data.bridge.table as _table
}

_served(query_input) := split(_asked(object.union({"gateway": _gateway}, query_input)).route, "/")[3]

test_best_match_of_a_stored_table_serves_a_request if {
	_served({"host": "shop.example.com", "path": "/exact"}) == "exact"
	_served({"host": "shop.example.com", "path": "/exact/"}) == "any"
	_served({"host": "shop.example.com", "path": "/cart/x", "method": "POST", "headers": {"a": "b"}}) == "post"
	_served({"host": "shop.example.com", "path": "/cart/x", "method": "POST"}) == "any"
}

# A pattern counts by what it matches, here more than the exact method of the other route.
test_call_that_a_pattern_matches_is_ranked_by_the_matched_characters if {
	_served({"host": "shop.example.com", "grpc": {"service": "shop.Cart", "method": "Add"}}) == "call"
	_served({"host": "shop.example.com", "grpc": {"service": "other", "method": "Add"}}) == "every-call"
}

test_more_specific_hostnames_are_a_warning_and_other_listeners_are_named if {
	found := _asked({"host": "shop.example.com", "path": "/x"})
	[one.reason | some one in found.warnings] == ["MoreSpecificHostname"]
	contains(found.warnings[0].message, "HTTPRoute/shop/exact has the more specific hostname shop.example.com")
	[[one.listener, one.port] | some one in found.also] == [[_secure, 443]]
}

test_heavy_patterns_leave_the_rule_undecided if {
	open := _asked({"gateway": _gateway, "host": "odd.org", "path": "/aa"})
	[one.node | some one in open.undecided] == [sprintf("%s#r", [_route_key("open")])]
	open.nearest.reason == "CannotTell"
	many := _asked({"gateway": _gateway, "host": "many.org", "path": "/aa"})
	contains(many.undecided[0].message, "too many to compile")
}

# The hub's table may have matches of routes that are not attached, and has no rules of these.
test_match_of_a_route_that_is_not_attached_serves_nothing if {
	found := routing.answer with input as {"gateway": _gateway, "host": "odd.org", "path": "/aa"}
		with data.bridge.table as json.patch(_table, [{"op": "remove", "path": ["rules", _web, _route_key("open")]}])
	found.rule == sprintf("%s#r", [_route_key("pattern")])
	found.undecided == []
}

test_heaviest_routes_are_left_out_where_patterns_are_too_many if {
	routing.overweight({"r1": 200, "r2": 300}) == set()
	routing.overweight({"r1": 200, "hostile": 300000}) == {"hostile"}
}

test_requests_that_no_rule_serves_say_how_far_they_get if {
	unmatched := _asked({"host": "odd.org", "path": "/b", "headers": {}, "port": 80, "protocol": "HTTP"})
	unmatched.route == null
	_asked({"gateway": _gateway, "host": "none.example.org"}).nearest == {
		"reached": "Listener", "reason": "NoRoute", "candidates": [],
		"message": "No HTTPRoute for none.example.org is attached to Gateway/infra/public#secure",
	}
	_asked({"sni": "a.org"}).nearest.reason == "NoListener"
	_asked({"port": 90}).failure.status == "404"
}
