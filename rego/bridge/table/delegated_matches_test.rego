package bridge.table_test

import data.bridge.lib.keys
import data.bridge.testing
import data.bridge.v1

_prefix(value) := {"path": {"type": "PathPrefix", "value": value}}

_to(name) := {"group": keys.gateway_api, "kind": "HTTPRoute", "name": name}

_public := {"name": "public", "namespace": "infra", "sectionName": "http"}

_top := testing.with_hostnames(
	testing.route("top", [_public], [{"name": "hand", "matches": [object.union(_prefix("/a"), {"method": "GET"})], "backendRefs": [_to("middle")]}]),
	["top.test"],
)

_middle := testing.route("middle", [], [
	{"name": "own", "matches": [object.union(_prefix("/a/own"), {"method": "GET"})]},
	{"name": "further", "matches": [object.union(_prefix("/a/b"), {"method": "GET"})], "backendRefs": [_to("leaf")]},
])

_leaf := testing.route("leaf", [], [{"name": "deep", "matches": [object.union(_prefix("/a/b/c"), {"method": "GET"})]}])

_inheriting(route) := object.union(route, {"metadata": {"annotations": {"delegation.kgateway.dev/inherit-parent-matcher": "true"}}})

_named(name, rule) := sprintf("%s/HTTPRoute/shop/%s#%s", [keys.gateway_api, name, rule])

_request(objects, fields) := answer if {
	upserts := array.concat([obj | some obj in testing.world; obj.kind != "HTTPRoute"], objects)
	answer := v1.request with input as object.union({"changes": {"upsert": upserts}}, fields)
}

test_request_is_served_by_the_rules_of_delegates_of_any_step if {
	_request([_top, _middle, _leaf], {"host": "top.test", "path": "/a/own/1"}).rule == _named("middle", "own")
	_request([_top, _middle, _leaf], {"host": "top.test", "path": "/a/b/c"}).rule == _named("leaf", "deep")
	_request([_top, _middle, _leaf], {"host": "top.test", "path": "/a/b/x"}).rule == null
	_request([_top, _middle, _leaf], {"host": "top.test", "path": "/a/b/c", "method": "PUT"}).rule == null
}

test_delegates_are_served_at_the_listener_and_hostnames_of_the_delegating_route if {
	found := _request([_top, _middle, _leaf], {"host": "top.test", "path": "/a/b/c"})
	[found.listener, found.gateway] == [testing.listener_http, split(testing.listener_http, "#")[0]]
	_request([_top, _middle, _leaf], {"host": "other.test", "path": "/a/b/c"}).rule == null
}

test_inherited_match_is_joined_to_that_of_the_delegating_rule if {
	leaf := _inheriting(testing.route("middle", [], [{"name": "deep", "matches": [object.union(_prefix("/c"), {"method": "PUT", "headers": [{"name": "x", "value": "1"}]})]}]))
	_request([_top, leaf], {"host": "top.test", "path": "/a/c/1", "headers": {"x": "1"}}).rule == _named("middle", "deep")
	_request([_top, leaf], {"host": "top.test", "path": "/a/c/1"}).rule == null
	_request([_top, leaf], {"host": "top.test", "path": "/c", "headers": {"x": "1"}}).rule == null
}

test_rule_is_unknown_where_a_prefix_is_joined_to_a_pattern if {
	top := testing.with_hostnames(
		testing.route("top", [_public], [{"name": "hand", "matches": [{"path": {"type": "RegularExpression", "value": "/a.*"}}], "backendRefs": [_to("middle")]}]),
		["top.test"],
	)
	leaf := _inheriting(testing.route("middle", [], [{"name": "deep", "matches": [_prefix("/c")]}]))
	found := _request([top, leaf], {"host": "top.test", "path": "/a/c"})
	[found.nearest.reason, [one.node | some one in found.undecided]] == ["CannotTell", [_named("top", "hand")]]
}

test_policies_of_a_request_are_those_of_its_own_way_through_delegating_rules if {
	other := testing.with_hostnames(testing.route("other", [_public], [{"name": "hand", "matches": [_prefix("/a")], "backendRefs": [_to("middle")]}]), ["other.test"])
	policies := [testing.color("shop", name, 1, [testing.ref("HTTPRoute", name)], {"color": name}) | some name in ["top", "other"]]
	found := _request(array.concat([_top, other, _middle, _leaf], policies), {"host": "other.test", "path": "/a/own"})
	[one.policy | some entry in found.policies; entry.target == _named("middle", "own"); some path in entry.paths; some one in path.policies] == ["example.com/ColorPolicy/shop/other"]
}

test_rule_that_delegates_a_request_is_not_a_target_of_its_policies if {
	policies := [testing.color("shop", "top", 1, [testing.ref("HTTPRoute", "top")], {"color": "red"})]
	found := _request(array.concat([_top, _middle, _leaf], policies), {"host": "top.test", "path": "/a/b/c"})
	targets := [entry.target | some entry in found.policies]
	_named("leaf", "deep") in targets
	{target | some target in targets; target in {_named("top", "hand"), _named("middle", "further")}} == set()
}

test_weighted_routes_among_several_matches_have_a_warning if {
	plain := testing.route("plain", [_public], [{"name": "all", "matches": [_prefix("/w")]}])
	weighted := object.union(
		testing.route("weighted", [_public], [{"name": "all", "matches": [_prefix("/")]}]),
		{"metadata": {"annotations": {"kgateway.dev/route-weight": "5"}}},
	)
	[one.reason | some one in _request([plain, weighted], {"host": "w.test", "path": "/w"}).warnings] == ["RouteWeight"]
	_request([plain, weighted], {"host": "w.test", "path": "/x"}).warnings == []
}
