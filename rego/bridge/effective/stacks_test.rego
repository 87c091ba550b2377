package bridge.effective_test

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.outcomes
import data.bridge.scopes
import data.bridge.testing

_mesh_kind(fields) := testing.policykind(object.union(
	{
		"group": "example.com",
		"kind": "RetryPolicy",
		"effectiveTarget": "Rule",
		"crossNamespace": "Consumer",
		"targets": [{"kind": "Service"}, {"group": testing.gateway_group, "kind": "HTTPRoute"}],
	},
	fields,
))

_retry(namespace, name, refs) := testing.with_spec(
	testing.resource("example.com/v1", "RetryPolicy", namespace, name),
	{"targetRefs": refs, "from": namespace},
)

_mesh_route(namespace) := {
	"apiVersion": testing.gateway_api,
	"kind": "HTTPRoute",
	"metadata": {"name": "mesh", "namespace": namespace},
	"spec": {
		"parentRefs": [{"group": "", "kind": "Service", "name": "cart", "namespace": "shop"}],
		"rules": [{"name": "all"}],
	},
}

_cart_frontend_ref := {"group": "", "kind": "Service", "name": "cart", "namespace": "shop"}

_mesh_service := testing.service("cart", [{"name": "http", "port": 80}])

_mesh_rule(namespace) := sprintf("gateway.networking.k8s.io/HTTPRoute/%s/mesh#all", [namespace])

_specs(objects, namespace, source) := [path.spec | some path in entries] if {
	entries := effective.policies_of("example.com/RetryPolicy", _mesh_rule(namespace), source) with input as _mesh_input(objects)
}

_mesh_input(objects) := {"changes": {"upsert": array.concat([_mesh_kind({}), _mesh_service, _mesh_route("shop")], objects)}}

# K4
test_a_policy_of_a_frontend_reaches_the_rules_of_its_routes if {
	_specs([_retry("shop", "own", [_cart_frontend_ref])], "shop", "") == [{"from": "shop"}]
}

# P6
test_a_consumers_policy_counts_for_its_own_namespace_alone if {
	objects := [_retry("app", "mine", [_cart_frontend_ref])]
	every row in [["", []], ["app", [{"from": "app"}]], ["blog", []]] {
		_specs(objects, "shop", row[0]) == row[1]
	}
}

# P6
test_a_consumers_route_takes_the_place_of_the_producers if {
	objects := [_retry("shop", "own", [_cart_frontend_ref]), _mesh_route("app")]
	every row in [
		["shop", "", [{"from": "shop"}]],
		["shop", "app", []],
		["shop", "blog", [{"from": "shop"}]],
		["app", "", []],
		["app", "app", [{"from": "shop"}]],
		["app", "blog", []],
	] {
		_specs(objects, row[0], row[1]) == row[2]
	}
}

_rows(objects, namespace) := [[row.policy, row.outcome, scope] | some row in rows; some scope in row.examples] if {
	rows := outcomes.outcomes_at("example.com/RetryPolicy", _mesh_rule(namespace)) with input as _mesh_input(objects)
}

_own_key := "example.com/RetryPolicy/shop/own"

_mine_key := "example.com/RetryPolicy/app/mine"

# P6, O4
test_statuses_count_the_policies_of_each_source_and_equal_ones_once if {
	at_producer := "Service/shop/cart@frontend > HTTPRoute/shop/mesh#all"
	_rows([_retry("shop", "own", [_cart_frontend_ref])], "shop") == [[_own_key, "Programmed", at_producer]]
	_rows([_retry("shop", "own", [_cart_frontend_ref]), _retry("app", "mine", [_cart_frontend_ref])], "shop") == [
		[_own_key, "Programmed", at_producer],
		[_mine_key, "Overridden", concat("", [at_producer, " from namespace app"])],
		[_own_key, "Programmed", concat("", [at_producer, " from namespace app"])],
	]
	_rows([_retry("shop", "own", [_cart_frontend_ref]), _mesh_route("app")], "app") == [[
		_own_key, "Programmed",
		"Service/shop/cart@frontend > HTTPRoute/app/mesh#all from namespace app",
	]]
}

# P6: what it names in its own namespace is its own.
test_a_policy_for_its_own_namespace_counts_for_every_source if {
	policy := _retry("app", "mine", [testing.ref("HTTPRoute", "mesh")])
	_specs([policy, _mesh_route("app")], "app", "app") == [{"from": "app"}]
	found := scopes.reachable_scopes(_mine_key) with input as _mesh_input([policy, _mesh_route("app")])
	found == {_mesh_rule("app")}
}

# C2, K4
test_a_direct_kind_may_act_on_a_frontend if {
	kind := _mesh_kind({"class": "Direct", "effectiveTarget": "Target", "targets": [{"kind": "Service", "role": "Frontend"}]})
	document := {"changes": {"upsert": [kind, _mesh_service, _retry("shop", "own", [_cart_frontend_ref])]}}
	found := scopes.scopes_at_or_below("example.com/RetryPolicy", "core/Service/shop/cart") with input as document
	found == {"core/Service/shop/cart@frontend"}
	entries := effective.policies_of("example.com/RetryPolicy", "core/Service/shop/cart@frontend", "") with input as document
	[[entry.path, entry.spec] | some entry in entries] == [[["core/Service/shop/cart@frontend"], {"from": "shop"}]]
	scopes.acts_at("example.com/RetryPolicy", "core/Service/shop/cart@frontend") with input as document
	not scopes.acts_at("example.com/RetryPolicy", "core/Service/shop/cart") with input as document
}

# F5, P6
test_a_consumers_policy_and_a_producers_are_in_no_conflict if {
	kind := _mesh_kind({"class": "Direct", "effectiveTarget": "Target", "targets": [{"kind": "Service"}]})
	policies := [_retry("shop", "own", [_cart_frontend_ref]), _retry("app", "mine", [_cart_frontend_ref]), _retry("app", "second", [_cart_frontend_ref])]
	document := {"changes": {"upsert": array.concat([kind, _mesh_service], policies)}}
	attached := {policy |
		some policy in [_own_key, _mine_key, "example.com/RetryPolicy/app/second"]
		nodes := scopes.reachable_scopes(policy) with input as document
		count(nodes) > 0
	}
	attached == {_own_key, _mine_key}
}

# C1, P6
test_a_consumers_policy_makes_its_target_effective_for_its_own_namespace_alone if {
	at_target := _mesh_kind({"effectiveTarget": "Target", "targets": [
		{"kind": "Service", "role": "Frontend"},
		{"group": testing.gateway_group, "kind": "HTTPRoute", "sections": true},
	]})
	refs := [object.union(testing.section_ref("HTTPRoute", "mesh", "all"), {"namespace": "shop"})]
	policies := [_retry("shop", "own", [_cart_frontend_ref]), _retry("app", "mine", refs)]
	objects := array.concat([at_target, _mesh_service, _mesh_route("shop")], policies)
	every row in [["", []], ["app", [{"from": "app"}]], ["blog", []]] {
		paths := effective.policies_of("example.com/RetryPolicy", _mesh_rule("shop"), row[0]) with input as {"changes": {"upsert": objects}}
		[path.spec | some path in paths] == row[1]
	}
}

# P6, GEP-713 "Merge strategy: None"
test_of_a_direct_kind_the_older_of_a_consumers_and_a_producers_policy_holds_for_the_consumer if {
	direct := {"class": "Direct", "effectiveTarget": "Target", "targets": [{"kind": "Service", "role": "Backend"}]}
	kind := _mesh_kind(direct)
	every row in [[1, 2, "shop", "shop"], [2, 1, "shop", "app"]] {
		[producers, consumers, for_all, for_app] := row
		objects := [
			kind, _mesh_service,
			testing.created(_retry("shop", "own", [_cart_frontend_ref]), producers),
			testing.created(_retry("app", "mine", [_cart_frontend_ref]), consumers),
		]
		every query_input in [["", for_all], ["app", for_app]] {
			[source, holder] := query_input
			entries := effective.policies_of("example.com/RetryPolicy", "core/Service/shop/cart", source) with input as {"changes": {"upsert": objects}}
			[path.spec | some path in entries] == [{"from": holder}]
		}
	}
}

_infra_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "Gateway")

_at_gateway := testing.far_ref("Gateway", "infra", "public")

_entry(name, node) := {"policy": sprintf("example.com/ColorPolicy/shop/%s", [name]), "target": node}

# F1, GEP-713 "Established and challenger policy specs"
test_the_established_one_stands_higher_then_is_older_then_comes_first_by_name if {
	policies := [
		testing.color("shop", "at-rule", 0, [testing.section_ref("HTTPRoute", "cart", "pay")], {}),
		testing.color("shop", "b", 2, [_cart_ref], {}),
		testing.color("shop", "c", 1, [_cart_ref], {}),
		testing.color("shop", "a", 2, [_cart_ref], {}),
		testing.color("shop", "at-gateway", 9, [_at_gateway], {}),
	]
	document := testing.changed(array.concat(policies, [_infra_grant]))
	stack := effective.stack("example.com/ColorPolicy", testing.cart_pay_path, "") with input as document
	stack == [
		_entry("at-gateway", "gateway.networking.k8s.io/Gateway/infra/public"),
		_entry("c", testing.cart_route),
		_entry("a", testing.cart_route),
		_entry("b", testing.cart_route),
		_entry("at-rule", testing.cart_pay),
	]
}

# P4
test_a_policy_at_two_places_of_a_path_takes_part_at_both if {
	policy := testing.color("shop", "warm", 1, [_at_gateway, _cart_ref], {})
	stack := effective.stack("example.com/ColorPolicy", testing.cart_pay_path, "") with input as testing.changed([policy, _infra_grant])
	stack == [_entry("warm", "gateway.networking.k8s.io/Gateway/infra/public"), _entry("warm", testing.cart_route)]
}

test_an_inherited_kinds_paths_run_through_the_hierarchy if {
	paths := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([])
	paths == {testing.cart_pay_path}
}

# C2
test_a_direct_kinds_path_is_its_target_alone if {
	paths := [found |
		some node in ["core/Service/shop/cart", "core/Service/shop/cart#http"]
		found := hierarchy.kind_paths("example.com/TimeoutPolicy", node) with input as testing.changed([])
	]
	paths == [{["core/Service/shop/cart"]}, {["core/Service/shop/cart", "core/Service/shop/cart#http"]}]
}

# P3
test_paths_name_namespaces_for_kinds_that_may_target_them if {
	kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule"})
	paths := hierarchy.kind_paths("example.com/ZonePolicy", testing.cart_pay) with input as testing.changed([kind])
	paths == {[
		"gateway.networking.k8s.io/GatewayClass/-/example",
		"core/Namespace/-/infra",
		"gateway.networking.k8s.io/Gateway/infra/public",
		testing.listener_http,
		"core/Namespace/-/shop",
		testing.cart_route,
		testing.cart_pay,
	]}
}
