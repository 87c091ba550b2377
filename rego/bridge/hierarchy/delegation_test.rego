package bridge.delegation_test

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.testing

_group := "gateway.networking.k8s.io"

_key(name) := keys.format(_group, "HTTPRoute", "shop", name)

_backend(name) := {"group": _group, "kind": "HTTPRoute", "name": name}

_parent(matches) := testing.route("parent", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [
	{"name": "teams", "matches": matches, "backendRefs": [_backend("child")]},
	{"name": "both", "backendRefs": [_backend("child"), {"name": "cart", "port": 80}]},
])

_prefix(value) := {"path": {"type": "PathPrefix", "value": value}}

_child(matches) := testing.route("child", [], [{"name": "one", "matches": matches}, {"name": "two", "matches": [_prefix("/elsewhere")]}])

_world(parent, child) := testing.changed([parent, child])

_refusal(parent, child) := reason if {
	reason := hierarchy.delegation_refusal(keys.section(_key("parent"), "teams"), _key("child")) with input as _world(parent, child)
} else := ""

_teams := [_prefix("/team")]

# P10
test_a_delegate_is_below_the_rule_that_names_it if {
	world := _world(_parent(_teams), _child([_prefix("/team/a")]))
	teams := keys.section(_key("parent"), "teams")
	paths := hierarchy.paths(keys.section(_key("child"), "one"), false) with input as world
	{[node | some node in array.slice(path, 3, 7)] | some path in paths} == {
		[_key("parent"), teams, _key("child"), keys.section(_key("child"), "one")],
		[_key("parent"), keys.section(_key("parent"), "both"), _key("child"), keys.section(_key("child"), "one")],
	}
	children := hierarchy.children(teams) with input as world
	children == {_key("child")}
	hierarchy.paths(teams, false) == set() with input as world
	count(hierarchy.paths(keys.section(_key("parent"), "both"), false)) == 1 with input as world
}

# P10
test_a_rule_of_a_delegate_gets_only_requests_that_are_delegated if {
	world := _world(_parent(_teams), _child([_prefix("/team/a")]))
	paths := hierarchy.paths(keys.section(_key("child"), "two"), false) with input as world
	{path[4] | some path in paths} == {keys.section(_key("parent"), "both")}
}

_only(match) := object.union(_child([]), {"spec": {"rules": [{"matches": [match]}]}})

test_a_delegate_matches_within_the_matches_of_the_rule if {
	_refusal(_parent(_teams), _only(_prefix("/team/a"))) == ""
	_refusal(_parent(_teams), _only(_prefix("/other"))) == "NoMatchWithin"
	_refusal(_parent([{"path": {"type": "Exact", "value": "/team"}}]), _only(_prefix("/team"))) == "NoMatchWithin"
	_refusal(_parent([object.union(_prefix("/team"), {"method": "GET"})]), _only(_prefix("/team"))) == "NoMatchWithin"
	_refusal(_parent([object.union(_prefix("/team"), {"headers": [{"name": "a", "value": "b"}]})]), _only(_prefix("/team"))) == "NoMatchWithin"
}

test_a_delegate_may_add_its_matches_to_those_of_the_rule if {
	inheriting := object.union(_child([_prefix("/a")]), {"metadata": {"annotations": {"delegation.kgateway.dev/inherit-parent-matcher": "True"}}})
	_refusal(_parent(_teams), inheriting) == ""
}

test_a_delegate_names_no_other_parent_and_no_hostname if {
	child := _child([_prefix("/team/a")])
	_refusal(_parent(_teams), object.union(child, {"spec": {"parentRefs": [{"name": "public", "namespace": "infra"}]}})) == "NotItsParent"
	_refusal(_parent(_teams), object.union(child, {"spec": {"parentRefs": [{"group": _group, "kind": "HTTPRoute", "name": "parent"}]}})) == ""
	_refusal(_parent(_teams), object.union(child, {"spec": {"hostnames": ["shop.example.com"]}})) == "HostnamesOfDelegate"
}

test_a_parent_ref_to_a_route_that_does_not_delegate_is_explained if {
	child := object.union(_child([_prefix("/team/a")]), {"spec": {"parentRefs": [{"group": _group, "kind": "HTTPRoute", "name": "plain"}]}})
	plain := testing.route("plain", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{"name": "all"}])
	links := hierarchy.rejected_above(_key("child")) with input as testing.changed([plain, child])
	[link.message | some link in links] == ["no rule of HTTPRoute/shop/plain has this route as a backend"]
}

test_a_rule_with_a_missing_delegate_serves_nothing if {
	world := testing.changed([_parent(_teams)])
	hierarchy.paths(keys.section(_key("parent"), "teams"), false) == set() with input as world
	links := hierarchy.unserved_links(_key("parent")) with input as world
	links == {{"parent": _key("parent"), "child": _key("child"), "reason": "BackendNotFound"}}
}

_rules_above(route, world) := {keys.whole(rule) | some rule in found} if {
	found := hierarchy.extension_parents(_key(route)) with input as world
}

_labeled(namespace, value) := object.union(_child([_prefix("/team/a")]), {"metadata": {"namespace": namespace, "labels": {"delegation.kgateway.dev/label": value}}})

_by_label(ref) := testing.route("parent", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{
	"name": "teams", "matches": _teams,
	"backendRefs": [object.union({"group": "delegation.kgateway.dev", "kind": "label", "name": "team"}, ref)],
}])

# P10
test_a_rule_delegates_to_the_routes_of_its_namespace_with_a_label if {
	_rules_above("child", testing.changed([_by_label({}), _labeled("shop", "team")])) == {_key("parent")}
	_rules_above("child", testing.changed([_by_label({}), _labeled("shop", "other")])) == set()
	_rules_above("child", testing.changed([_by_label({"namespace": "other"}), _labeled("shop", "team")])) == set()
	children := hierarchy.children(keys.section(_key("parent"), "teams")) with input as testing.changed([_by_label({}), _labeled("shop", "team")])
	children == {_key("child")}
}

test_a_rule_delegates_to_routes_with_a_label_in_all_namespaces if {
	world := testing.changed([_by_label({"namespace": "all"}), _labeled("infra", "team")])
	child := keys.format(_group, "HTTPRoute", "infra", "child")
	paths := hierarchy.paths(keys.section(child, "one"), false) with input as world
	[array.slice(path, 3, 6) | some path in paths] == [[_key("parent"), keys.section(_key("parent"), "teams"), child]]
	above := hierarchy.declared_upward(child) with input as world
	_key("parent") in above
	below := hierarchy.objects_below(_key("parent")) with input as world
	child in below
}

# P10
test_a_rule_delegates_to_all_routes_of_a_namespace_but_its_own_and_those_with_another_parent if {
	parent := testing.route("parent", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{"name": "teams", "matches": _teams, "backendRefs": [_backend("*")]}])
	attached := testing.route("attached", [{"name": "public", "namespace": "infra"}], [{"matches": [_prefix("/team/b")]}])
	world := testing.changed([parent, attached, _child([_prefix("/team/a")])])
	children := hierarchy.children(keys.section(_key("parent"), "teams")) with input as world
	children == {_key("child")}
	_rules_above("parent", world) == set()
	links := hierarchy.rejected_above(_key("attached")) with input as world
	links == set()
	below := hierarchy.objects_below(_key("parent")) with input as world
	_key("child") in below
}

test_a_rule_with_a_label_that_no_route_has_serves_nothing if {
	links := hierarchy.unserved_links(_key("parent")) with input as testing.changed([_by_label({})])
	[[link.reason, link.child] | some link in links] == [["BackendNotFound", "delegation.kgateway.dev/label/shop/team"]]
}
