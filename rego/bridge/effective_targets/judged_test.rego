package bridge.effective_targets_test

import data.bridge.effective_targets
import data.bridge.kinds
import data.bridge.testing

_color_kind := "example.com/ColorPolicy"

_spec_before(target) := object.get(target.before, [_color_kind, "spec"], {})

# The targets at an object of the namespace `shop` as guardrails judge them, after a change of stored objects; `held` is
# what the query has already.
_judged(type, name, objects, held) := found if {
	active := kinds.active_kinds with input as {"changes": {"upsert": objects}}
	found := effective_targets.judged[type].shop[name] with data.objects as testing.stored(objects)
		with data.index as testing.stored_index(objects)
		with data.kinds as active
		with data.kind_sets as kinds.sets_of(active)
		with input as held
}

# What was in effect at each rule of a route on each listener, `{"<rule> <listener>": spec}`.
_before_of(name, objects, changes) := {sprintf("%s %s", [split(target.rule, "#")[1], split(target.listener, "#")[1]]): _spec_before(target) |
	some target in _judged("gateway.networking.k8s.io/HTTPRoute", name, objects, {"changes": changes})
}

_on(match) := {"path": {"type": "PathPrefix", "value": match}}

_rule(name, matches) := {"name": name, "matches": [_on(match) | some match in matches]}

# A route at these listeners.
_store(listeners, hostnames, rules) := testing.with_hostnames(
	testing.route("store", [{"name": "public", "namespace": "infra", "sectionName": listener} | some listener in listeners], rules),
	hostnames,
)

_theme(name, refs, theme) := testing.color("shop", name, 1, refs, {"theme": theme})

_at_rule(rule) := [testing.section_ref("HTTPRoute", "store", rule)]

_base := array.concat(testing.world, [_store(["http"], ["shop.example.com"], [_rule("list", ["/list"]), _rule("pay", ["/pay"])])])

_with_pay := array.concat(_base, [_theme("paying", _at_rule("pay"), "dark")])

test_a_target_keeps_its_values_from_before_the_change if {
	_before_of("store", _with_pay, {"delete": ["example.com/ColorPolicy/shop/paying"]}) == {"list http": {}, "pay http": {"theme": "dark"}}
	_before_of("store", _with_pay, {"upsert": [_theme("paying", _at_rule("list"), "dark")]}) == {"list http": {}, "pay http": {"theme": "dark"}}
}

test_a_port_that_no_policy_names_any_longer_is_judged_once_more if {
	refs := [object.union(testing.service_ref("cart"), {"sectionName": "http"})]
	objects := array.concat(testing.world, [testing.timeout("patient", 1, refs, {"request": "9s"})])
	found := {target.target: {"now": object.keys(target.policies), "before": {kind: effect.spec | some kind, effect in target.before}} |
		some target in _judged("core/Service", "cart", objects, {"changes": {"delete": ["example.com/TimeoutPolicy/shop/patient"]}})
	}
	found == {
		"core/Service/shop/cart": {"now": set(), "before": {}},
		"core/Service/shop/cart#http": {"now": set(), "before": {"example.com/TimeoutPolicy": {"request": "9s"}}},
	}
}

test_a_port_that_a_policy_names_first_has_the_former_values_of_its_service if {
	whole := testing.timeout("whole", 1, [testing.service_ref("cart")], {"request": "9s", "idle": "1m"})
	at_port := testing.timeout("port", 2, [object.union(testing.service_ref("cart"), {"sectionName": "http"})], {"request": "1s"})
	found := {target.target: {"now": target.policies["example.com/TimeoutPolicy"].spec, "before": target.before["example.com/TimeoutPolicy"].spec} |
		some target in _judged("core/Service", "cart", array.concat(testing.world, [whole]), {"changes": {"upsert": [at_port]}})
	}
	found == {
		"core/Service/shop/cart": {"now": {"request": "9s", "idle": "1m"}, "before": {"request": "9s", "idle": "1m"}},
		"core/Service/shop/cart#http": {"now": {"request": "1s"}, "before": {"request": "9s", "idle": "1m"}},
	}
}

test_a_port_is_no_target_by_a_policy_of_another_namespace_without_permission if {
	at_port := [object.union(testing.service_ref("cart"), {"namespace": "shop", "sectionName": "http"})]
	ours := testing.timeout("ours", 1, at_port, {"request": "1s"})
	every case in [[ours, {"core/Service/shop/cart", "core/Service/shop/cart#http"}], [object.union(ours, {"metadata": {"namespace": "infra"}}), {"core/Service/shop/cart"}]] {
		[policy, expected] := case
		{target.target | some target in _judged("core/Service", "cart", array.concat(testing.world, [policy]), {})} == expected
	}
}

test_without_a_change_there_is_no_before if {
	targets := _judged("gateway.networking.k8s.io/HTTPRoute", "store", _with_pay, {})
	count(targets) == 2
	every target in targets {
		not target.before
	}
}

test_the_former_state_in_a_query_counts if {
	held := [{"target": "gateway.networking.k8s.io/HTTPRoute/shop/store#pay", "path": [], "policies": {_color_kind: {"spec": {"theme": "held"}}}, "sections": ["#pay"]}]
	targets := _judged("gateway.networking.k8s.io/HTTPRoute", "store", _with_pay, {
		"changes": {"upsert": []},
		"before": {"gateway.networking.k8s.io/HTTPRoute/shop/store": held},
	})
	{split(target.target, "#")[1]: _spec_before(target) | some target in targets} == {"pay": {"theme": "held"}, "list": {}}
}

test_targets_that_the_query_has_are_not_computed_again if {
	held := [{"target": "core/Service/shop/cart", "path": []}]
	found := effective_targets.by_object["core/Service"].shop.cart with input as object.union(testing.changed([]), {"targets_at": {"core/Service/shop/cart": held}})
	found == held
}

test_a_rule_of_fewer_hostnames_or_matches_keeps_its_former_values if {
	wide := array.concat(testing.world, [
		_store(["http"], ["shop.example.com", "blog.example.com"], [_rule("pay", ["/pay", "/buy"])]),
		_theme("paying", _at_rule("pay"), "dark"),
	])
	_before_of("store", wide, {"upsert": [_store(["http"], ["shop.example.com"], [_rule("pay", ["/pay"])])]}) == {"pay http": {"theme": "dark"}}
}

test_a_rule_that_takes_over_the_match_of_another_has_the_former_values_of_both if {
	objects := array.concat(_with_pay, [_theme("listing", _at_rule("list"), "light")])
	taken := _before_of("store", objects, {"upsert": [_store(["http"], ["shop.example.com"], [_rule("list", ["/list", "/pay"])])]})
	taken == {"list http": [{"theme": "light"}, {"theme": "dark"}]}
}

test_a_rule_of_another_name_has_the_former_values_of_its_match if {
	_before_of("store", _with_pay, {"upsert": [_store(["http"], ["shop.example.com"], [_rule("list", ["/list"]), _rule("buy", ["/pay"])])]}) == {
		"list http": {},
		"buy http": {"theme": "dark"},
	}
}

test_a_rule_of_another_name_and_match_has_the_former_values_of_gone_rules if {
	_before_of("store", _with_pay, {"upsert": [_store(["http"], ["shop.example.com"], [_rule("list", ["/list"]), _rule("buy", ["/buy"])])]}) == {
		"list http": {},
		"buy http": {"theme": "dark"},
	}
}

test_a_rule_on_a_new_listener_has_the_former_values_of_others_of_its_gateway if {
	_before_of("store", _with_pay, {"upsert": [_store(["http", "alt"], ["shop.example.com"], [_rule("pay", ["/pay"])])]}) == {
		"pay http": {"theme": "dark"},
		"pay alt": {"theme": "dark"},
	}
}

# A Gateway whose listeners have these hostnames, and a route at both.
_doors(http, alt) := testing.gateway("doors", [
	object.union(testing.listener("http", 80), {"hostname": http}),
	object.union(testing.listener("alt", 8080), {"hostname": alt}),
])

_visitor := testing.route(
	"visitor",
	[{"name": "doors", "namespace": "infra", "sectionName": listener} | some listener in ["http", "alt"]],
	[_rule("all", ["/"])],
)

_door_theme(section, theme) := testing.color("infra", section, 1, [testing.section_ref("Gateway", "doors", section)], {"theme": theme})

_visited := array.concat(testing.world, [
	_doors("a.example.com", "b.example.com"),
	_visitor,
	_door_theme("http", "light"),
	_door_theme("alt", "dark"),
])

test_a_listener_that_serves_more_hostnames_has_their_former_values if {
	_before_of("visitor", _visited, {"upsert": [_doors("*.example.com", "b.example.com")]}) == {
		"all http": [{"theme": "light"}, {"theme": "dark"}],
		"all alt": {"theme": "dark"},
	}
	_before_of("visitor", _visited, {"upsert": [_doors("c.example.com", "b.example.com")]}) == {
		"all http": {"theme": "light"},
		"all alt": {"theme": "dark"},
	}
}

test_former_values_of_several_places_name_the_policies_of_each if {
	targets := _judged("gateway.networking.k8s.io/HTTPRoute", "visitor", _visited, {"changes": {"upsert": [_doors("*.example.com", "b.example.com")]}})
	some target in targets
	endswith(target.listener, "#http")
	effect := target.before[_color_kind]
	effect.origins == {"/0": ["example.com/ColorPolicy/infra/http"], "/1": ["example.com/ColorPolicy/infra/alt"]}
	object.keys(effect.outcomes) == {"example.com/ColorPolicy/infra/http", "example.com/ColorPolicy/infra/alt"}
}

test_hostnames_of_a_target_are_those_of_route_and_listener_together if {
	targets := effective_targets.by_object["gateway.networking.k8s.io/HTTPRoute"].shop.visitor with input as {"changes": {"upsert": array.concat(
		testing.world,
		[_doors("*.example.com", "B.example.com"), testing.with_hostnames(_visitor, ["A.example.com", "*.example.com"])],
	)}}
	{split(target.listener, "#")[1]: target.hostnames | some target in targets} == {
		"http": {"a.example.com", "*.example.com"},
		"alt": {"b.example.com"},
	}
}

test_listeners_are_the_same_by_their_port_and_hostname if {
	changed := testing.gateway("public", [object.union(testing.listener("web", 80), {"hostname": "Shop.example.com"})])
	found := effective_targets.judged["gateway.networking.k8s.io/Gateway"].infra.public with input as {
		"changes": {"upsert": array.concat([obj | some obj in testing.world; obj.kind != "Gateway"], [changed])},
		"identified": true,
	}
	[target.sections | some target in found] == [["#web", `[80,"shop.example.com"]`]]
}

# A Direct kind, whose policies count at their targets whatever the path.
test_effective_direct_policies_of_a_backend_are_reported_on_each_path if {
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	targets := _at("core/Service", "shop", "cart", [slow])
	count(targets) > 0
	every target in targets {
		target.policies["example.com/TimeoutPolicy"].spec == {"request": "1s"}
	}
}

test_parameters_of_a_kind_or_field_that_does_not_exist_are_unknown if {
	messages := {message |
		some parameters in [{"kind": "example.com/None", "field": "/a"}, {"kind": _color_kind, "field": "theme"}]
		answers := effective_targets.unknown({}, parameters) with input as testing.changed([])
		some {"message": message, "severity": "unknown"} in answers
	}
	messages == {
		"parameters: unknown policy kind example.com/None",
		"parameters: the field must be a JSON pointer such as /a/b, not theme",
	}
	found := effective_targets.unknown({"unknown": "too many"}, {"kind": _color_kind, "field": "/theme"}) with input as testing.changed([])
	found == {{"message": "example.com/ColorPolicy is unknown: too many", "severity": "unknown"}}
	not effective_targets.unknown({"spec": {}}, {"kind": _color_kind, "field": "/theme"}) with input as testing.changed([])
}
