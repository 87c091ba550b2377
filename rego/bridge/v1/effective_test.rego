package bridge.v1_test

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.scopes
import data.bridge.testing
import data.bridge.v1

_color := "example.com/ColorPolicy"

_warm := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})

_warm_key := "example.com/ColorPolicy/shop/warm"

_slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})

_slow_key := "example.com/TimeoutPolicy/shop/slow"

_rule_one := "gateway.networking.k8s.io/HTTPRoute/shop/cart#[1]"

_query_input(objects, fields) := object.union(testing.changed(objects), fields)

_entry_at(node) := {"target": node, "policyKind": _color, "paths": [{
	"path": array.concat(array.slice(testing.cart_pay_path, 0, 4), [node]),
	"spec": {"theme": "dark"},
	"origins": {"/theme": _warm_key},
	"policies": [{
		"policy": _warm_key,
		"target": testing.cart_route,
		"strategy": "AtomicDefaults",
		"outcome": "Programmed",
		"overriddenBy": [],
	}],
}]}

test_effective_answers_for_each_target_below_with_a_policy if {
	found := v1.effective with input as _query_input([_warm], {"targets": ["gateway.networking.k8s.io/Gateway/infra/public"]})
	found == [_entry_at(_rule_one), _entry_at(testing.cart_pay)]
}

# K3
test_effective_takes_a_named_rule_by_its_place if {
	query_input := _query_input([_warm, _slow], {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]"], "policyKind": _color})
	found := v1.effective with input as query_input
	found == [_entry_at(testing.cart_pay)]
}

test_effective_answers_from_stored_objects_as_from_a_change if {
	objects := array.concat(testing.world, [_warm])
	kinds := v1.kinds_in_force with data.objects as testing.stored(objects)
	found := v1.effective with input as {"targets": [testing.cart_pay]}
		with data.objects as testing.stored(objects)
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds
	found == [_entry_at(testing.cart_pay)]
}

test_effective_has_nothing_for_a_target_without_policies if {
	found := v1.effective with input as _query_input([], {"targets": [testing.cart_pay]})
	found == []
}

_explained(objects, fields) := found if {
	found := v1.explain with input as _query_input(objects, object.union({"policyKind": _color}, fields))
}

test_explain_tells_the_steps_and_the_ignored_policies if {
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	_explained([_warm, far], {"target": testing.cart_pay}) == [{
		"target": testing.cart_pay,
		"policyKind": _color,
		"paths": [object.union(_entry_at(testing.cart_pay).paths[0], {
			"steps": [],
			"fields": [{"field": "/theme", "value": "dark", "policies": [_warm_key]}],
		})],
		"attachments": [{
			"policy": "example.com/ColorPolicy/shop/far",
			"target": "gateway.networking.k8s.io/Gateway/infra/public",
			"reason": "TargetNotFound",
			"message": "Target Gateway/infra/public is not found, or no ReferenceGrant lets this policy name it",
		}],
		"links": [],
	}]
}

test_explain_answers_for_each_target_below if {
	[entry.target | some entry in _explained([_warm], {"target": "gateway.networking.k8s.io/Gateway/infra/public"})] == _both
}

test_explain_lists_a_kind_with_ignored_policies_alone if {
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	[[entry.paths, count(entry.attachments)] | some entry in _explained([far], {"target": testing.cart_pay})] == [[[], 1]]
	_explained([], {"target": testing.cart_pay}) == []
}

test_explain_tells_the_links_that_do_not_count if {
	shut := testing.route("cart", [{"name": "gone", "namespace": "infra"}], [{"name": "pay"}])
	others := [obj | some obj in testing.world; obj.metadata.name != "cart"]
	found := v1.explain with input as {"target": testing.cart_pay, "policyKind": _color, "changes": {"upsert": array.concat(others, [shut])}}
	[[link.parent, link.reason] | some link in found[0].links] == [["gateway.networking.k8s.io/Gateway/infra/gone", "ParentNotFound"]]
}

test_a_bad_target_is_an_error if {
	every row in [
		[{}, "InvalidInput"],
		[{"target": 3}, "InvalidInput"],
		[{"target": "Service/cart"}, "InvalidInput"],
		[{"target": "core/Service/shop/gone"}, "TargetNotFound"],
		[{"target": testing.cart_pay, "policyKind": "example.com/Foo"}, "UnknownPolicyKind"],
	] {
		_explained([], row[0]).error.code == row[1]
	}
}

test_outcomes_are_rows_for_each_effective_target_that_there_is if {
	targets := [testing.cart_pay, testing.cart_route, "gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]", "core/Service/shop/gone"]
	found := v1.outcomes with input as _query_input([_warm], {"policyKind": _color, "targets": targets})
	found == {testing.cart_pay: [{
		"policy": _warm_key,
		"targets": [testing.cart_route],
		"ancestor": "",
		"outcome": "Programmed",
		"by": [],
		"count": 1,
		"examples": ["Gateway/infra/public#http > HTTPRoute/shop/cart#pay"],
		"marks": {[testing.cart_route, json.marshal({"name": "public", "namespace": "infra", "sectionName": "http"})]},
	}]}
	unmarked := v1.outcomes with input as _query_input([_warm], {"policyKind": _color, "targets": targets, "unmarked": true})
	unmarked == {target: [json.remove(row, ["/marks"]) | some row in rows] | some target, rows in found}
}

_stored_world := array.concat(testing.world, [_cart_policy])

_differences(fields) := found if {
	kinds := v1.kinds_in_force with data.objects as testing.stored(_stored_world)
	found := v1.differences with input as fields
		with data.objects as testing.stored(_stored_world)
		with data.index as testing.stored_index(_stored_world)
		with data.kinds as kinds
}

test_differences_tell_before_and_after if {
	found := _differences({
		"scopes": {_color: [_rule_one, testing.cart_pay]},
		"changes": {"upsert": [_pay_policy]},
	})
	[[difference.target, difference.before.spec, difference.after.spec] | some difference in found] == [[testing.cart_pay, {"theme": "dark"}, {"theme": "light"}]]
}

test_differences_and_impact_have_fields_where_the_query_asks if {
	[found] := _differences({
		"scopes": {_color: [testing.cart_pay]},
		"changes": {"upsert": [_pay_policy]},
		"fields": true,
	})
	found.before.fields == [{"field": "/theme", "value": "dark", "policies": ["example.com/ColorPolicy/shop/cart"]}]
	found.after.fields == [{"field": "/theme", "value": "light", "policies": ["example.com/ColorPolicy/shop/pay"]}]
	[without] := _impact_of([_pay_policy], {"policy": "example.com/ColorPolicy/shop/pay", "fields": true}).ifDeleted
	[without.before.fields, without.after] == [found.after.fields, null]
}

test_a_target_that_comes_or_goes_has_nothing_on_one_side if {
	gone := _differences({"scopes": {_color: [testing.cart_pay]}, "changes": {"delete": [testing.cart_route]}})
	[[difference.before.spec, difference.after] | some difference in gone] == [[{"theme": "dark"}, null]]
	cut := testing.route("cart", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{"name": "new"}])
	come := _differences({
		"scopes": {_color: ["gateway.networking.k8s.io/HTTPRoute/shop/cart#new"]},
		"changes": {"upsert": [cut]},
	})
	[[difference.before, difference.after.spec] | some difference in come] == [[null, {"theme": "dark"}]]
}

test_a_kind_that_comes_into_force_has_nothing_before if {
	fresh := object.union(testing.color_kind, {"kind": "FreshPolicy"})
	policy := object.union(_cart_policy, {"kind": "FreshPolicy"})
	found := _differences({
		"scopes": {"example.com/FreshPolicy": [_rule_one]},
		"changes": {"upsert": [testing.policykind(fresh), policy]},
	})
	[[difference.policyKind, difference.before, difference.after.spec] | some difference in found] == [["example.com/FreshPolicy", null, {"theme": "dark"}]]
}

test_without_a_difference_there_is_none if {
	_differences({"scopes": {_color: [_rule_one]}, "changes": {"upsert": [_cart_policy]}}) == []
}

test_scopes_of_another_shape_are_an_error if {
	every scopes in [null, [], {_color: "all"}] {
		_differences({"scopes": scopes}).error.code == "InvalidInput"
	}
}

_followed(objects, scopes, watched) := found if {
	found := v1.watch_results with input as _query_input(objects, {"scopes": scopes, "watched": watched})
}

_held := testing.color("shop", "one", 2, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})

test_objects_below_a_watched_target_are_reported if {
	every watched in [testing.cart_pay, testing.cart_route, testing.listener_http, _gateway, "core/Namespace/-/shop"] {
		found := _followed([_held], {_color: [testing.cart_pay]}, [watched])
		[[entry.target, entry.policyKind, entry.watched] | some entry in found] == [[testing.cart_pay, _color, [watched]]]
		found[0].paths[0].spec == {"theme": "dark"}
	}
}

test_a_path_below_a_route_that_nothing_accepts_is_followed_with_the_reasons if {
	away := testing.route("away", [{"name": "gone", "namespace": "infra"}], [{"name": "all", "backendRefs": [{"name": "cart", "port": 80}]}])
	policy := testing.color("shop", "held", 2, [testing.ref("HTTPRoute", "away")], {"theme": "dark"})
	target := "gateway.networking.k8s.io/HTTPRoute/shop/away#all"
	[entry] := _followed([away, policy], {_color: [target]}, ["core/Namespace/-/shop"])
	[path.notAttached | some path in entry.paths] == [["Gateway/infra/gone does not exist"]]
}

test_objects_beside_a_watched_target_are_not_reported if {
	other := "gateway.networking.k8s.io/Gateway/infra/public#alt"
	_followed([_held], {_color: [testing.cart_pay]}, [other, "core/Namespace/-/else", "core/Service/shop/cart"]) == []
}

test_a_target_without_a_policy_is_reported_without_paths if {
	found := _followed([], {_color: [testing.cart_pay]}, [_gateway])
	found[0].paths == []
}

test_deleted_objects_are_absent if {
	_followed([], {_color: ["gateway.networking.k8s.io/HTTPRoute/shop/gone#[0]"], "example.com/Nope": [testing.cart_pay]}, [_gateway]) == []
}

test_watched_targets_must_be_keys if {
	_followed([], {_color: []}, ["x"]).error.code == "InvalidInput"
	_followed([], 3, [_gateway]).error.code == "InvalidInput"
}

# From the bottom and from the top it is the same.
test_under_agrees_with_scopes if {
	mesh := testing.route("mesh", [{"group": "", "kind": "Service", "name": "cart"}], [{"backendRefs": [{"name": "cart", "port": 80}]}])
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	pools := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "class": "Inherited", "effectiveTarget": "Target"})
	pool := testing.with_spec(testing.resource("example.com/v1", "PoolPolicy", "shop", "p"), {"targetRefs": [testing.ref("HTTPRoute", "mesh")]})
	answers := _compared with input as _query_input([_held, mesh, slow, pools, pool], {})
	count(answers) == 45
	every answer in answers {
		answer[2] == answer[3]
	}
}

_compared := [[kind, node, scopes.scopes_at_or_below(kind, node), found] |
	nodes := _all_nodes
	some kind in kinds.names
	some node in nodes
	found := {scope | some scope in nodes; scopes.acts_at(kind, scope); scopes.is_within(kind, node, scope)}
]

_all_nodes := {node |
	some key in {
		"gateway.networking.k8s.io/GatewayClass/-/example", _gateway, testing.cart_route, "core/Service/shop/cart",
		"gateway.networking.k8s.io/HTTPRoute/shop/mesh", "core/Namespace/-/shop", "core/Namespace/-/infra",
	}
	some node in ({key} | hierarchy.sections(key))
} | {"core/Service/shop/cart@frontend"}

_cart_policy := testing.color("shop", "cart", 3, [testing.ref("HTTPRoute", "cart")], {"defaults": {"theme": "dark"}})

_pay_policy := testing.color("shop", "pay", 4, [testing.section_ref("HTTPRoute", "cart", "pay")], {"defaults": {"theme": "light"}})

_impact_of(objects, fields) := found if {
	found := v1.impact with input as _query_input(objects, fields)
}

test_impact_tells_the_scopes_and_the_values_without_the_policy if {
	found := _impact_of([_cart_policy, _pay_policy], {"policy": "example.com/ColorPolicy/shop/cart"})
	found.scopes == [_rule_one, testing.cart_pay]
	found.counts == {"scopes": 2, "compared": 2, "outcomes": {"Programmed": 1, "PartiallyProgrammed": 0, "Overridden": 1}}
	[[difference.target, difference.before.spec, difference.after] | some difference in found.ifDeleted; difference.target == _rule_one] == [[_rule_one, {"theme": "dark"}, null]]
}

test_an_overridden_policy_changes_only_the_named_owner if {
	found := _impact_of([_cart_policy, _pay_policy], {"policy": "example.com/ColorPolicy/shop/cart"})
	difference := [difference | some difference in found.ifDeleted; difference.target == testing.cart_pay][0]
	difference.before.spec == difference.after.spec
	{one.target: object.get(one, "sameFields", false) | some one in found.ifDeleted} == {testing.cart_pay: true, _rule_one: false}
	count(difference.before.policies) == 2
	count(difference.after.policies) == 1
}

test_the_limit_bounds_the_comparison_and_is_reported if {
	found := _impact_of([_cart_policy], {"policy": "example.com/ColorPolicy/shop/cart", "limit": 1})
	found.counts.scopes == 2
	found.counts.compared == 1
	count(found.ifDeleted) == 1
}

test_impact_heeds_changes if {
	query_input := object.union(testing.changed([_cart_policy]), {"policy": "example.com/ColorPolicy/shop/cart"})
	gone := object.union(query_input.changes, {"delete": ["gateway.networking.k8s.io/Gateway/infra/none"]})
	found := v1.impact with input as object.union(query_input, {"changes": gone})
	count(found.ifDeleted) == 2
}

test_a_bad_policy_is_an_error if {
	every row in [
		[{}, "InvalidInput"],
		[{"policy": 3}, "InvalidInput"],
		[{"policy": "ColorPolicy/cart"}, "InvalidInput"],
		[{"policy": "example.com/ColorPolicy/shop/gone"}, "TargetNotFound"],
		[{"policy": "core/Service/shop/cart"}, "UnknownPolicyKind"],
		[{"policy": "example.com/ColorPolicy/shop/cart", "limit": 0}, "InvalidInput"],
	] {
		_impact_of([_cart_policy], row[0]).error.code == row[1]
	}
}

_paths_of(more, query_input) := [path | some entry in found; some path in entry.paths] if {
	found := v1.effective with input as object.union_n([testing.changed(more), {"policyKind": "example.com/ColorPolicy"}, query_input])
}

test_all_paths_are_in_the_result_on_request if {
	alt := testing.section_ref("Gateway", "public", "alt")
	both := testing.route("cart", [{"name": "public", "namespace": "infra"}], [{"name": "pay"}])
	policy := testing.color("infra", "alt", 1, [alt], {"x": 1})
	world := object.union(testing.changed([]), {"changes": {"upsert": array.concat([obj | some obj in testing.world; obj.kind != "HTTPRoute"], [both, policy])}})
	query_input := object.union(world, {"targets": [testing.cart_pay]})
	count(_paths_of([], query_input)) == 1
	found := _paths_of([], object.union(query_input, {"allPaths": true}))
	[[path.path[2], path.policies] | some path in found; not path.spec] == [[testing.listener_http, []]]
	count(found) == 2
}

test_a_path_below_a_route_that_nothing_accepts_says_so if {
	away := testing.route("away", [{"name": "gone", "namespace": "infra"}], [{"name": "all"}])
	policy := testing.color("shop", "away", 1, [testing.ref("HTTPRoute", "away")], {"x": 1})
	query_input := {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/away"]}
	[path.notAttached | some path in _paths_of([away, policy], query_input)] == [["Gateway/infra/gone does not exist"]]
	[path.notAttached | some path in _paths_of([away], object.union(query_input, {"allPaths": true}))] == [["Gateway/infra/gone does not exist"]]
}

test_paths_have_the_fields_in_effect_if_the_query_asks_for_them if {
	asked := object.union(testing.changed([]), {"targets": [testing.cart_pay], "policyKind": "example.com/ColorPolicy"})
	[plain] := v1.effective with input as object.union(asked, {"changes": {"upsert": array.concat(testing.world, [_themed])}})
	not plain.paths[0].fields
	[found] := v1.effective with input as object.union(asked, {"fields": true, "changes": {"upsert": array.concat(testing.world, [_themed])}})
	found.paths[0].fields == [{"field": "/theme", "value": "dark", "policies": ["example.com/ColorPolicy/infra/themed"]}]
}

_themed := testing.color("infra", "themed", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})
