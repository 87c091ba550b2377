package bridge.effective_targets_test

import data.bridge.effective_targets
import data.bridge.testing

_dark := testing.color("infra", "dark", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})

_at(type, namespace, name, more) := found if {
	found := effective_targets.by_object[type][namespace][name] with input as {"changes": {"upsert": array.concat(testing.world, more)}}
}

_cart(more) := found if found := _at("gateway.networking.k8s.io/HTTPRoute", "shop", "cart", more)

test_each_rule_on_each_path_is_a_target if {
	targets := _cart([])
	testing.cart_pay in {target.target | some target in targets}
	some target in targets
	target.target == testing.cart_pay
	target.path == testing.cart_pay_path
	target.route == testing.cart_route
	target.listener == testing.listener_http
	target.gateway == "gateway.networking.k8s.io/Gateway/infra/public"
	target.rule == testing.cart_pay
	target.policies == {}
}

test_effective_policies_have_origins_and_outcomes if {
	some target in _cart([_dark])
	target.target == testing.cart_pay
	effect := target.policies["example.com/ColorPolicy"]
	effect.spec == {"theme": "dark"}
	effect.origins == {"/theme": "example.com/ColorPolicy/infra/dark"}
	effect.outcomes == {"example.com/ColorPolicy/infra/dark": "Programmed"}
}

test_a_backend_has_the_values_of_its_rule if {
	some target in _at("core/Service", "shop", "cart", [_dark])
	target.backend == "core/Service/shop/cart"
	target.policies["example.com/ColorPolicy"].spec == {"theme": "dark"}
}

_cart_port := "core/Service/shop/cart#http"

_patient := testing.timeout("patient", 1, [object.union(testing.service_ref("cart"), {"sectionName": "http"})], {"request": "9s"})

test_a_port_that_a_policy_names_is_a_target if {
	targets := _at("core/Service", "shop", "cart", [_patient])
	{target.target: spec | some target in targets; spec := object.get(target.policies, ["example.com/TimeoutPolicy", "spec"], {})} == {
		"core/Service/shop/cart": {},
		_cart_port: {"request": "9s"},
	}
	some target in targets
	target.target == _cart_port
	startswith(effective_targets.reported(target, {"message": "bad"}).msg, "port http via Gateway/infra/public#http > HTTPRoute/shop/cart#")
}

test_a_policy_is_a_target_with_its_conditions if {
	[target] := _at("example.com/ColorPolicy", "infra", "dark", [_dark])
	target.target == "example.com/ColorPolicy/infra/dark"
	some condition in target.conditions
	condition.reason == "Programmed"
}

test_a_namespace_is_no_target if {
	_at("core/Namespace", "-", "shop", []) == []
}

test_targets_have_the_labels_of_their_objects_and_namespaces if {
	some target in _cart([])
	target.labels["core/Namespace/-/shop"] == {"kubernetes.io/metadata.name": "shop"}
	target.labels[testing.cart_route] == {}
}

test_hostnames_are_those_that_the_listener_serves if {
	effective_targets._narrower("shop.example.com", "*.example.com") == "shop.example.com"
	effective_targets._narrower("*", "shop.example.com") == "shop.example.com"
	not effective_targets._narrower("shop.example.com", "*.example.org")
	some target in _cart([])
	target.hostnames == {"*"}
}

test_a_policy_that_cannot_be_merged_is_unknown if {
	effect := effective_targets._reported({"error": {"message": "too many"}, "policies": [{"policy": "a"}]})
	effect == {"unknown": "too many", "policies": ["a"]}
}

_part(theme) := {"spec": {"theme": theme}, "origins": {"/theme": "a"}, "outcomes": {}, "targets": {}}

test_effective_values_apart_from_features_that_are_not_modeled_are_known if {
	effect := effective_targets._reported({"incomplete": ["it has conditions"], "policies": [], "spec": {"theme": "dark"}, "origins": {"/theme": "a"}})
	effect == {"unknown": "it has conditions", "policies": [], "known": _part("dark")}
}

test_values_of_several_targets_together_are_unknown_if_those_of_one_are if {
	found := effective_targets._united([
		{"unknown": "it has conditions", "policies": ["a"], "known": _part("dark")},
		_part("light"),
		{"unknown": "too many", "policies": ["b"]},
	])
	{"unknown": found.unknown, "policies": found.policies} == {"unknown": "it has conditions; too many", "policies": ["a", "b"]}
	found.known.spec == [{"theme": "dark"}, {"theme": "light"}]
}

test_a_violation_without_a_message_is_reported_as_one if {
	target := {"target": "core/Service/shop/cart", "path": []}
	effective_targets.reported(target, {"text": 1}).msg == `Service/shop/cart: a violation has no message: {"text":1}`
}

test_a_violation_names_its_place if {
	some target in _cart([])
	target.target == testing.cart_pay
	effective_targets.reported(target, {"message": "bad", "severity": "low", "field": "/a"}) == {
		"msg": "rule pay via Gateway/infra/public#http: bad",
		"details": {"target": testing.cart_pay, "path": target.path, "severity": "low", "field": "/a"},
	}
}

# A kind whose policies another controller obeys, and policies of it above the bound on target refs.
_fence_kind := testing.policykind({"group": "acme.io", "kind": "Fence", "class": "Inherited", "effectiveTarget": "Rule"})

_fence(name, refs) := testing.with_spec(testing.resource("acme.io/v1", "Fence", "shop", name), {"targetRefs": refs, "height": 3})

_elsewhere := [testing.ref("HTTPRoute", sprintf("other%d", [number])) | some number in numbers.range(1, 20)]

test_effective_values_are_unknown_where_an_observed_policy_is_above_a_bound if {
	every refs in [[testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "cart")], _elsewhere] {
		some target in _cart([_fence_kind, _fence("wide", refs)]) with data.bridge_settings.bounds as {"targetRefs": 2}
		target.target == testing.cart_pay
		effect := target.policies["acme.io/Fence"]
		effect.policies == ["acme.io/Fence/shop/wide"]
		endswith(effect.unknown, "targetRefs; at most 2 are allowed")
	}
}

test_a_policy_above_a_bound_leaves_other_targets_known if {
	some target in _cart([_fence_kind, _fence("wide", array.slice(_elsewhere, 0, 3))]) with data.bridge_settings.bounds as {"targetRefs": 2}
	target.policies == {}
}

test_a_policy_above_a_bound_that_the_bridge_manages_has_no_effect if {
	wide := testing.color("shop", "wide", 1, [testing.ref("HTTPRoute", "cart")], {"values": [1, 2, 3, 4, 5]})
	some target in _cart([wide]) with data.bridge_settings.bounds as {"leaves": 3}
	target.policies == {}
}

test_an_answer_in_another_form_is_a_violation if {
	wrong := {"message": "a violation is not an object with a message: 1"}
	effective_targets.listed({{"message": "no"}}) == {{"message": "no"}}
	effective_targets.listed([{"message": "no"}]) == {{"message": "no"}}
	effective_targets.listed({"message": "no"}) == {{"message": "no"}}
	effective_targets.listed([]) == set()
	effective_targets.listed({1}) == {wrong}
	effective_targets.listed(1) == {wrong}
}
