package bridge.modeling_test

import data.bridge.constraints
import data.bridge.effective
import data.bridge.effective_targets
import data.bridge.guardrails.no_weakening
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.problems
import data.bridge.status as reporting
import data.bridge.testing

_dark := testing.color("infra", "dark", 1, [testing.ref("Gateway", "public")], {"theme": "dark", "rules": {"a": {"when": "x"}}})

_world(features) := {"changes": {"upsert": [described |
	some obj in array.concat(testing.world, [_dark])
	described := object.union(obj, {"spec": {"notModeled": features | obj.metadata.name == "colorpolicy"; obj.kind == "PolicyKind"}})
]}}

_entries(features) := found if {
	found := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as _world(features)
}

_why(features) := [one | some entry in _entries(features); some one in entry.incomplete]

test_a_feature_that_is_not_modeled_makes_the_result_incomplete if {
	_why([{"path": "/spec/rules/*/when", "message": "it has conditions"}]) == ["ColorPolicy/infra/dark: it has conditions"]
	_why([{"path": "/spec/theme", "value": "dark", "message": "dark"}]) == ["ColorPolicy/infra/dark: dark"]
	_why([{"path": "/spec/rules/*", "message": "rules"}]) == ["ColorPolicy/infra/dark: rules"]
}

test_a_feature_may_be_one_at_routes_of_some_kinds_only if {
	feature := {"path": "/spec/theme", "message": "it depends"}
	_why([object.union(feature, {"routeKinds": ["TCPRoute", "HTTPRoute"]})]) == ["ColorPolicy/infra/dark: it depends"]
	_why([object.union(feature, {"routeKinds": ["TCPRoute"]})]) == []
}

test_a_feature_may_be_one_without_another_field_only if {
	feature := {"path": "/spec/theme", "message": "it depends"}
	_why([object.union(feature, {"without": "/spec/shade"})]) == ["ColorPolicy/infra/dark: it depends"]
	_why([object.union(feature, {"without": "/spec/rules"})]) == []
}

test_a_feature_may_be_one_where_several_policies_meet_only if {
	feature := {"path": "/spec/theme", "several": true, "message": "it depends"}
	light := testing.color("infra", "light", 2, [testing.ref("Gateway", "public")], {"theme": "light"})
	world := _world([feature])
	_why([feature]) == []
	both := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as {"changes": {"upsert": array.concat(world.changes.upsert, [light])}}
	[one | some entry in both; some one in entry.incomplete] == ["ColorPolicy/infra/light: it depends"]
}

_remarked(remarks) := {"changes": {"upsert": [described |
	some obj in array.concat(testing.world, [_dark])
	described := object.union(obj, {"spec": {"remarks": remarks | obj.metadata.name == "colorpolicy"; obj.kind == "PolicyKind"}})
]}}

_remarks(when) := [one | some entry in entries; some one in entry.remarks] if {
	entries := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as _remarked([{"when": when, "message": "is dark"}])
}

test_an_effective_policy_has_remarks_about_the_values_of_its_policies if {
	every when in [
		[{"path": "/spec/theme"}],
		[{"path": "/spec/theme", "values": ["dark", "black"]}],
		[{"path": "/spec/theme", "except": ["light"]}],
		[{"path": "/spec/shade", "values": [1], "default": 1}],
	] {
		_remarks(when) == ["ColorPolicy/infra/dark is dark"]
	}
	every when in [
		[{"path": "/spec/shade"}],
		[{"path": "/spec/theme", "values": ["light"]}],
		[{"path": "/spec/theme"}, {"path": "/spec/theme", "except": ["dark"]}],
	] {
		_remarks(when) == []
	}
}

test_a_remark_may_make_a_policy_invalid if {
	remark := {"when": [{"path": "/spec/theme"}], "invalid": true, "message": "is refused"}
	[[one.reason, one.message] | some one in problems.of("example.com/ColorPolicy/infra/dark")] == [["Invalid", "ColorPolicy/infra/dark is refused"]] with input as _remarked([remark])
}

test_a_remark_may_be_a_problem_of_a_policy_that_is_in_effect if {
	remark := {"when": [{"path": "/spec/theme"}], "problem": true, "message": "never acts"}
	[[one.reason, one.message] | some one in problems.of("example.com/ColorPolicy/infra/dark")] == [["Invalid", "ColorPolicy/infra/dark never acts"]] with input as _remarked([remark])
}

test_an_explanation_is_marked_as_incomplete_too if {
	entries := effective.explanations("example.com/ColorPolicy", testing.cart_pay, "") with input as _world([{"path": "/spec/theme", "message": "it has a theme"}])
	[entry.incomplete | some entry in entries] == [["ColorPolicy/infra/dark: it has a theme"]]
}

test_other_features_do_not if {
	every feature in [
		{"path": "/spec/rules/*/unless", "message": "no"},
		{"path": "/spec/theme", "value": "light", "message": "no"},
		{"path": "/metadata/annotations/a~1b", "message": "no"},
	] {
		_why([feature]) == []
	}
	_why([]) == []
}

test_an_overridden_policy_does_not_count if {
	entry := {"path": testing.cart_pay_path, "policies": [{"policy": "example.com/ColorPolicy/infra/dark", "outcome": "Overridden"}], "spec": {}}
	effective.marked(entry) == entry with input as _world([{"path": "/spec/theme", "message": "no"}])
}

test_guardrails_and_coverage_do_not_know_it if {
	features := [{"path": "/spec/theme", "message": "who knows"}]
	[entry] := _entries(features)
	reported := effective_targets._reported(entry)
	reported.unknown == "ColorPolicy/infra/dark: who knows"
	reported.policies == ["example.com/ColorPolicy/infra/dark"]
	reported.known.spec == entry.spec
	[path] := constraints.uncovered_paths("example.com/ColorPolicy", "/theme", testing.cart_pay, "") with input as _world(features)
	path.unknown == "ColorPolicy/infra/dark: who knows"
}

# A warning from an answer that is not certain would be a guess: the only warning is that.
test_outcomes_statuses_and_problems_of_an_incomplete_result_say_so if {
	features := [{"path": "/spec/theme", "value": "light", "message": "it depends"}]
	reason := "ColorPolicy/shop/light: it depends"
	light := testing.color("shop", "light", 2, [testing.ref("HTTPRoute", "cart")], {"theme": "light", "rules": {"a": {"when": "y"}}})
	world := object.union(_world(features), {"changes": {"upsert": array.concat(_world(features).changes.upsert, [light])}})
	every policy in ["example.com/ColorPolicy/shop/light", "example.com/ColorPolicy/infra/dark"] {
		tallies := outcomes.tallies(policy) with input as world
		[tally | some tally in tallies; object.get(tally, "incomplete", []) != [reason]] == []
		status := reporting.of_policy(policy, tallies) with input as world
		status.incomplete == [reason]
		endswith(status.conditions[1].message, sprintf(". Incomplete: %s", [reason]))
		found := problems.of(policy) with input as world
		[[one.reason, one.enforcementAction, one.message] | some one in found] == [["Incomplete", "warn", sprintf("Its outcome is not certain: %s", [reason])]]
	}
}

test_a_report_is_not_compared_with_an_incomplete_result if {
	conditions := [{"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}, {"type": "Programmed", "status": "True", "reason": "Programmed", "message": ""}]
	overridden := [object.union(conditions[1], {"status": "False", "reason": "Overridden"})]
	said := object.union(_dark, {"status": {"conditions": overridden}})
	key := "example.com/ColorPolicy/infra/dark"
	certain := reporting.reported(key, {"conditions": conditions}) with input as {"changes": {"upsert": [said]}}
	count([one | some one in certain; one.difference]) == 1
	doubtful := reporting.reported(key, {"conditions": conditions, "incomplete": ["why"]}) with input as {"changes": {"upsert": [said]}}
	[one | some one in doubtful; one.difference] == []
}

test_values_that_become_unknown_may_be_weakened if {
	kind := "example.com/ColorPolicy"
	target := {
		"policies": {kind: {"unknown": "who knows"}},
		"before": {kind: {"spec": {"theme": "dark"}, "origins": {"/theme": "example.com/ColorPolicy/infra/dark"}}},
	}
	found := no_weakening.violations_at(target, {"kinds": [kind]}, []) with data.kinds as {kind: {}}
	{[one.severity, one.message] | some one in found} == {["unknown", "example.com/ColorPolicy is unknown: who knows"]}
}

_unread_infra := {"gateway.networking.k8s.io/Gateway": ["shop"], "example.com/ColorPolicy": ["shop"]}

test_an_unread_parent_makes_a_path_uncertain if {
	route := testing.route("lone", [{"name": "edge", "namespace": "infra"}], [{"name": "all"}])
	path := [sprintf("%s/HTTPRoute/shop/lone", [keys.gateway_api]), sprintf("%s/HTTPRoute/shop/lone#all", [keys.gateway_api])]
	found := effective.incomplete_because("example.com/ColorPolicy", path, []) with input as testing.changed([route])
		with data.unread as _unread_infra
	found == ["you can't read Gateway/infra/edge, which may change this result"]
}

test_unread_policies_at_a_node_make_a_path_uncertain if {
	found := effective.incomplete_because("example.com/ColorPolicy", testing.cart_pay_path, []) with input as testing.changed([])
		with data.unread as _unread_infra
	found == ["you can't read ColorPolicy objects in namespace infra, which may change this result"]
}

test_unread_objects_of_other_kinds_change_nothing_on_a_path if {
	not effective.incomplete_because("example.com/ColorPolicy", testing.cart_pay_path, []) with input as testing.changed([])
		with data.unread as {"core/Secret": []}
}

test_unread_parents_of_a_route_are_one_reason_and_not_that_it_is_not_attached if {
	parents := [{"name": "edge", "namespace": "infra"}, {"name": "inner", "namespace": "infra"}]
	route := testing.route("lone", parents, [{"name": "all"}])
	key := sprintf("%s/HTTPRoute/shop/lone", [keys.gateway_api])
	policy := {
		"apiVersion": "example.com/v1",
		"kind": "ColorPolicy",
		"metadata": {"name": "lone", "namespace": "shop"},
		"spec": {"targetRefs": [{"group": keys.gateway_api, "kind": "HTTPRoute", "name": "lone"}], "color": "red"},
	}
	found := effective.listed_policies_of("example.com/ColorPolicy", sprintf("%s#all", [key]), "") with input as testing.changed([route, policy])
		with data.unread as _unread_infra
	[one.incomplete | some one in found] == [["you can't read Gateway/infra/edge, Gateway/infra/inner, which may change this result"]]
	not found[0].notAttached
}

_label := "example.com/served-by"

_served := testing.policykind({
	"group": "example.com", "kind": "TimeoutPolicy", "class": "Direct",
	"targets": [{"group": "", "kind": "Service", "label": _label}],
})

_labeled(obj, labels) := object.union(obj, {"metadata": {"labels": labels}})

_doubts(of_namespace, of_service) := [one | some entry in found; some one in object.get(entry, "incomplete", [])] if {
	found := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/web", "") with input as {"changes": {"upsert": [
		_served,
		_labeled(testing.resource("v1", "Namespace", "", "shop"), of_namespace),
		_labeled(testing.service("web", [{"port": 80}]), of_service),
		testing.timeout("slow", 1, [testing.service_ref("web")], {"request": "5s"}),
	]}}
	count(found) > 0
}

test_the_label_of_the_target_decides_before_that_of_its_namespace if {
	_doubts({_label: "one"}, {}) == []
	_doubts({}, {_label: "one"}) == []
	_doubts({_label: "none"}, {_label: "one"}) == []
	_doubts({}, {}) == ["TimeoutPolicy/shop/slow: it names Service/shop/web, and neither that nor its Namespace has the label example.com/served-by"]
	every labels in [[{_label: "one"}, {_label: ""}], [{_label: ""}, {}]] {
		_doubts(labels[0], labels[1]) == ["TimeoutPolicy/shop/slow: it names Service/shop/web, whose label example.com/served-by is empty"]
	}
	every labels in [[{_label: "one"}, {_label: "none"}], [{_label: "none"}, {}]] {
		_doubts(labels[0], labels[1]) == ["TimeoutPolicy/shop/slow: it names Service/shop/web, whose label example.com/served-by is none"]
	}
}

_waypoints := testing.policykind({
	"group": "example.com", "kind": "TimeoutPolicy", "class": "Direct",
	"targets": [{"group": "", "kind": "Service", "label": _label, "servedBy": {
		"namespaceLabel": "example.com/served-in", "classes": ["waypoint"], "controllers": ["example.com/mesh"],
		"exceptLabel": "example.com/serves", "exceptValues": ["pods"],
	}}],
})

_doubts_at_waypoint(labels, objects) := [trim_prefix(one, "TimeoutPolicy/shop/slow: it names Service/shop/web, whose label example.com/served-by names ") |
	some entry in found
	some one in object.get(entry, "incomplete", [])
] if {
	found := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/web", "") with input as {"changes": {"upsert": array.concat(objects, [
		_waypoints,
		testing.resource("v1", "Namespace", "", "shop"),
		_labeled(testing.service("web", [{"port": 80}]), object.union({_label: "way"}, labels)),
		testing.timeout("slow", 1, [testing.service_ref("web")], {"request": "5s"}),
	])}}
	count(found) > 0
}

_way(namespace, class, labels) := _labeled(
	testing.with_spec(testing.resource(testing.gateway_api, "Gateway", namespace, "way"), {"gatewayClassName": class, "listeners": []}),
	labels,
)

_class(controller, labels) := _labeled(testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "mesh"), {"controllerName": controller}), labels)

test_the_gateway_that_a_label_names_serves_the_target if {
	_doubts_at_waypoint({}, [_way("shop", "waypoint", {})]) == []
	_doubts_at_waypoint({}, [_way("shop", "mesh", {"example.com/serves": "all"}), _class("example.com/mesh", {"example.com/serves": "pods"})]) == []
	_doubts_at_waypoint({"example.com/served-in": "infra"}, [_way("infra", "waypoint", {})]) == []
}

test_a_target_is_not_known_to_be_served_by_a_gateway_that_is_missing_of_another_class_or_for_others if {
	_doubts_at_waypoint({}, []) == ["Gateway/shop/way, which does not exist"]
	_doubts_at_waypoint({"example.com/served-in": "infra"}, [_way("shop", "waypoint", {})]) == ["Gateway/infra/way, which does not exist"]
	_doubts_at_waypoint({}, [_way("shop", "mesh", {}), _class("example.com/other", {})]) == ["Gateway/shop/way, whose GatewayClass mesh is not known as one of example.com/mesh"]
	_doubts_at_waypoint({}, [_way("shop", "waypoint", {"example.com/serves": "pods"})]) == ["Gateway/shop/way, whose label example.com/serves is pods"]
	_doubts_at_waypoint({}, [_way("shop", "mesh", {}), _class("example.com/mesh", {"example.com/serves": "pods"})]) == ["Gateway/shop/way, whose label example.com/serves is pods"]
}

test_range_with_bits_of_hosts_is_found_in_each_way_to_write_an_address if {
	every range in ["10.0.0.1/8", "2001:db8::1/32", "2001:DB8:0:0::1/64"] {
		effective._has_form(range, {"hostBits": true})
	}
	every range in ["10.0.0.0/8", "10.0.0.1/32", "2001:0db8::/32", "2001:DB8:0:0::/64", "::/0", "0.0.0.0/0", "10.0.0.1", "no/8"] {
		not effective._has_form(range, {"hostBits": true})
	}
}
