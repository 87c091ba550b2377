package bridge.request_test

import data.bridge.request

_parts(match, query_input) := {miss[0] | some miss in misses} if {
	misses := _misses(match) with input as query_input
}

_http := "gateway.networking.k8s.io/HTTPRoute"

_misses(match) := {[one.part, message] |
	some one in request.conditions_of("Gateway API", _http, match)
	message := _miss(one)
}

_miss(one) := request._miss(one) if {
	true
} else := request._pattern_miss(one, false) if {
	one.type == "RegularExpression"
}

test_an_exact_path_a_prefix_and_a_pattern if {
	_parts({"path": {"type": "Exact", "value": "/a"}}, {"path": "/a"}) == set()
	_parts({"path": {"type": "Exact", "value": "/a"}}, {"path": "/a/"}) == {"path"}
	_parts({"path": {"type": "PathPrefix", "value": "/a"}}, {"path": "/a/b"}) == set()
	_parts({"path": {"type": "PathPrefix", "value": "/a/"}}, {"path": "/a"}) == set()
	_parts({"path": {"type": "PathPrefix", "value": "/a"}}, {"path": "/ab"}) == {"path"}
	_parts({"path": {"type": "PathPrefix", "value": "/"}}, {"path": "/ab"}) == set()
	_parts({"path": {"type": "RegularExpression", "value": "/a+"}}, {"path": "/aa"}) == set()
	_parts({"path": {"type": "RegularExpression", "value": "/a+"}}, {"path": "/aab"}) == {"path"}
}

test_a_match_without_a_path_expects_that_of_every_request if {
	conditions := request.conditions_of("Gateway API", _http, {}) with input as {"path": "/a"}
	conditions[0] == {"part": "path", "name": "path", "type": "PathPrefix", "expected": "/", "actual": "/a"}
}

# A pattern of another dialect is one that does not match, never an error.
test_a_pattern_that_is_none_matches_nothing if {
	_parts({"path": {"type": "RegularExpression", "value": "/(?!a)"}}, {"path": "/b"}) == {"path"}
}

test_every_part_that_does_not_match_is_reported if {
	match := {
		"path": {"value": "/a"},
		"method": "GET",
		"headers": [{"name": "X-A", "value": "1"}],
		"queryParams": [{"name": "b", "value": "2", "type": "RegularExpression"}],
	}
	query_input := {"path": "/x", "method": "POST", "headers": {"x-a": "2"}}
	misses := _misses(match) with input as query_input
	{message | some [_, message] in misses} == {
		"path /x is not /a nor below it",
		"method is POST, not GET",
		"header x-a is 2, not 1",
		"query parameter b is missing",
	}
}

test_of_values_with_one_name_the_first_counts if {
	match := {"headers": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]}
	_parts(match, {"headers": {"x-A": ["1"]}}) == set()
	_parts({"queryParams": [{"name": "A", "value": "1"}]}, {"query": {"a": "1"}}) == {"query parameter"}
	_parts({"queryParams": [{"name": "a", "value": "1"}]}, {"query": {"a": ["1", "2"]}}) == set()
	_parts({"queryParams": [{"name": "a", "value": "[0-9]", "type": "RegularExpression"}]}, {"query": {"a": "x"}}) == {"query parameter"}
}

test_usual_patterns_weigh_little if {
	every pattern in [
		`/api/v[0-9]+/(carts|orders)/[^/]+`,
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
		`([0-9]{1,3}\.){3}[0-9]{1,3}`,
		`(?i)bearer [A-Za-z0-9._-]{20,200}`,
		`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z]{2,10})+`,
		`/\p{Greek}+/.*`,
		`a\{5\}|[{5}]`,
	] {
		not request.excess(pattern)
	}
}

test_patterns_that_compile_to_much_are_too_heavy if {
	every pattern in [
		`[a-k1]{1000}`,
		`[]a-k]{1000}`,
		`[\]abcd]{900}`,
		`[[:alpha:]]{900}`,
		`[a-k1]{1,1000}`,
		`[a-k1]{500,}[a-k1]{500,}`,
		`((a{100}){100}){100}`,
		`((((ab?c){7}){7}){7}){7}`,
		`\pL{500}`,
		`\p{Greek}{500}`,
		`(?i:\pL\pN){60}`,
		`(?si)[a-z]{500}`,
		concat("", [`\pL` | some _ in numbers.range(1, 100)]),
		concat("", ["a" | some _ in numbers.range(1, 1025)]),
		`a{99999999999999999999}{99999999999999999999}b{3000}`,
	] {
		request.excess(pattern)
	}
}

test_heaviest_routes_are_left_out_where_patterns_are_too_many if {
	few := {sprintf("/a%d[0-9]{2}", [index]) | some index in numbers.range(1, 10)}
	many := {sprintf("/b%d[a-z]{300}", [index]) | some index in numbers.range(1, 400)}
	request._overweight_routes({"r1": few, "r2": few}) == set()
	request._overweight_routes({"r1": few, "hostile": many}) == {"hostile"}
}

test_patterns_too_heavy_to_be_compiled_take_nothing_of_the_bound if {
	heavy := {sprintf("/b%d[a-k1]{1000}", [index]) | some index in numbers.range(1, 500)}
	request._overweight_routes({"hostile": heavy}) == set()
}
