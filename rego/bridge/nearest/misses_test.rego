package bridge.nearest_test

import data.bridge.nearest

_parts(match, query_input) := {miss[0] | some miss in misses} if {
	misses := _misses(match) with input as query_input
}

_http := "gateway.networking.k8s.io/HTTPRoute"

_misses(match) := {[one.part, message] |
	some one in nearest._compared("Gateway API", _http, match)
	message := _miss(one)
}

_miss(one) := nearest._miss(one) if {
	true
} else := nearest._pattern_miss(one, false) if {
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
