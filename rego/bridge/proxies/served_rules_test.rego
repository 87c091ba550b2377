package bridge.proxies_test

import data.bridge.proxies
import data.bridge.proxies.envoy
import data.bridge.testing

_other_route := "gateway.networking.k8s.io/HTTPRoute/shop/matched"

_matched(matches) := testing.with_hostnames(
	testing.route("matched", [{"name": "public", "namespace": "infra"}], [{"name": "pay", "matches": matches}]),
	["Shop.example.com"],
)

# The row about a rule with these matches, of which a proxy has these.
_rule_row_of(matches, served) := row if {
	node := sprintf("%s#pay", [_other_route])
	found := [object.union({"proxy": "edge", "via": testing.listener_http, "family": 0, "late": false, "hosts": ["shop.example.com"]}, one) | some one in served]
	rows := proxies.rule_rows with input as object.union(testing.changed([_matched(matches)]), {"targets": [node], "found": {node: found}, "everything": true})
	[row] := rows
}

_prefix := [["path", "", "PathPrefix", "/cart"]]

test_rule_is_verified_if_the_proxy_serves_each_match_at_each_hostname if {
	row := _rule_row_of([{"path": {"value": "/cart/"}}], [{"match": _prefix}])
	[row.state, row.expected, row.actual] == ["verified", ["shop.example.com/cart/*"], ["shop.example.com/cart/*"]]
}

test_rule_that_the_proxy_serves_otherwise_is_not_verified if {
	match := {"path": {"value": "/cart"}}
	_rule_row_of([match], [{"match": _prefix, "hosts": ["other.example.com"]}]).state == "missing in the proxy"
	_rule_row_of([match, {"method": "POST"}], [{"match": _prefix}]).message == "the proxy does not serve shop.example.com/* header :method=POST"
	_rule_row_of([match], [{"match": _prefix}, {"match": [["path", "", "Exact", "/pay"]]}]).message == "the proxy also serves shop.example.com/pay"
	_rule_row_of([match], [{"match": _prefix, "late": true}]).state == "cannot be read"
	_rule_row_of([match], [{"match": null}]).state == "cannot be read"
}

test_headers_and_parameters_are_compared_by_their_first_value if {
	matches := [{
		"path": {"type": "RegularExpression", "value": "/c.*"},
		"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}],
		"queryParams": [{"name": "q", "type": "RegularExpression", "value": "a+"}],
	}]
	served := sort([["path", "", "RegularExpression", "/c.*"], ["header", "x-a", "Exact", "1"], ["query", "q", "RegularExpression", "a+"]])
	_rule_row_of(matches, [{"match": served}]).expected == ["shop.example.com~/c.* header x-a=1 query q~a+"]
	_rule_row_of(matches, [{"match": served}]).state == "verified"
}

test_calls_of_a_method_of_any_service_are_compared_by_the_end_of_their_path if {
	node := "gateway.networking.k8s.io/GRPCRoute/shop/calls#pay"
	route := object.union(
		testing.with_hostnames(
			testing.route("calls", [{"name": "public", "namespace": "infra"}], [{"name": "pay", "matches": [{"method": {"method": "Get"}}]}]),
			["shop.example.com"],
		),
		{"kind": "GRPCRoute"},
	)
	served := [["header", ":path", "Suffix", "/Get"], ["path", "", "PathPrefix", "/"]]
	one := {"proxy": "edge", "via": testing.listener_http, "family": 0, "late": false, "hosts": ["shop.example.com"], "match": served}
	[row] := proxies.rule_rows with input as object.union(testing.changed([route]), {"targets": [node], "found": {node: [one]}, "everything": true})
	[row.state, row.expected] == ["verified", ["shop.example.com/* header :path=*/Get"]]
}

test_match_of_an_envoy_has_its_conditions if {
	envoy.match({"prefix": "/"}) == [["path", "", "PathPrefix", "/"]]
	envoy.match({"path": "/pay", "headers": [{"name": "X-A", "stringMatch": {"exact": "1"}}]}) == [["header", "x-a", "Exact", "1"], ["path", "", "Exact", "/pay"]]
	envoy.match({"safeRegex": {"regex": "/c.*"}, "queryParameters": [{"name": "q", "stringMatch": {"safeRegex": {"regex": "a+"}}}]}) == [
		["path", "", "RegularExpression", "/c.*"],
		["query", "q", "RegularExpression", "a+"],
	]
	envoy.match({"prefix": "/", "headers": [{"name": ":path", "stringMatch": {"suffix": "/Get"}}]}) == [["header", ":path", "Suffix", "/Get"], ["path", "", "PathPrefix", "/"]]
	every other in [{}, {"prefix": "/cart"}, {"prefix": "/", "runtimeFraction": {}}, {"prefix": "/", "headers": [{"name": "a", "presentMatch": true}]}] {
		envoy.match(other) == null
	}
}

_exact(name, value) := {"name": name, "stringMatch": {"exact": value}}

test_route_is_taken_by_an_earlier_one_that_matches_all_its_requests if {
	every matches in [
		[{"pathSeparatedPrefix": "/cart"}, {"pathSeparatedPrefix": "/cart"}],
		[{"pathSeparatedPrefix": "/cart"}, {"pathSeparatedPrefix": "/cart/pay"}],
		[{"prefix": "/"}, {"path": "/cart"}],
		[{"prefix": "/ca"}, {"pathSeparatedPrefix": "/cart"}],
		[{"safeRegex": {"regex": ".*"}}, {"safeRegex": {"regex": "/cart.*"}}],
		[{"safeRegex": {"regex": "/c.*"}}, {"pathSeparatedPrefix": "/cart"}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"path": "/cart", "headers": [_exact("0", "1"), _exact("A", "1")]}],
		[{"prefix": "/", "headers": [{"name": "a", "stringMatch": {"safeRegex": {"regex": "1.*"}}}]}, {"path": "/cart", "headers": [_exact("a", "12")]}],
		[{"prefix": "/", "runtimeFraction": {}}, {"path": "/cart"}],
		[{"path": "/cart", "grpc": {}}, {"path": "/cart"}],
		[{"pathSeparatedPrefix": "/cart", "grpc": {}}, {"path": "/cart/pay"}],
		[{"safeRegex": {"regex": "/c.*"}, "grpc": {}}, {"path": "/cart"}],
		[{"connectMatcher": {}}, {"path": "/cart"}],
	] {
		envoy.taken(matches) == {1}
	}
}

test_route_is_not_taken_by_one_for_other_requests if {
	every matches in [
		[{"pathSeparatedPrefix": "/cart/pay"}, {"pathSeparatedPrefix": "/cart"}],
		[{"path": "/cart"}, {"pathSeparatedPrefix": "/cart"}],
		[{"pathSeparatedPrefix": "/cart"}, {"path": "/carts"}],
		[{"safeRegex": {"regex": "/c"}}, {"pathSeparatedPrefix": "/cart"}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"path": "/cart", "headers": [_exact("a", "2")]}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"prefix": "/"}],
		[{"path": "/cart"}, {"connectMatcher": {}}],
	] {
		envoy.taken(matches) == set()
	}
}

test_route_of_no_rule_takes_a_part_of_the_requests_of_those_after_it if {
	every matches in [
		[{"path": "/cart/pay"}, {"pathSeparatedPrefix": "/cart"}],
		[{"pathSeparatedPrefix": "/cart/pay"}, {"pathSeparatedPrefix": "/cart"}],
		[{"prefix": "/cart/p"}, {"pathSeparatedPrefix": "/cart"}],
		[{"safeRegex": {"regex": "/cart/p.*"}}, {"pathSeparatedPrefix": "/cart"}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"prefix": "/"}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"path": "/cart", "headers": [_exact("b", "1")]}],
		[{"connectMatcher": {}}, {"path": "/cart"}],
	] {
		envoy.overlapped(matches, [0]) == {1}
		envoy.overlapped(matches, [1]) == set()
	}
	every matches in [
		[{"path": "/cart"}, {"path": "/carts"}],
		[{"path": "/carts"}, {"pathSeparatedPrefix": "/cart"}],
		[{"pathSeparatedPrefix": "/carts"}, {"pathSeparatedPrefix": "/cart"}],
		[{"prefix": "/carts"}, {"pathSeparatedPrefix": "/other"}],
		[{"safeRegex": {"regex": "/carts"}}, {"path": "/cart"}],
		[{"prefix": "/", "headers": [_exact("a", "1")]}, {"prefix": "/", "headers": [_exact("a", "2")]}],
	] {
		envoy.overlapped(matches, [0]) == set()
	}
	many := [{"path": sprintf("/%d", [number])} | some number in numbers.range(0, 200)]
	count(envoy.overlapped(many, numbers.range(0, 101))) == 200
}
