package bridge.admission_test

import data.bridge.admission
import data.bridge.kinds
import data.bridge.testing

_routes(names) := [testing.route(
	name,
	[{"name": "public", "namespace": "infra", "sectionName": "http"}],
	[{"name": "pay", "backendRefs": [{"name": "cart", "port": 80}]}],
) |
	some name in names
]

_create(obj) := {
	"operation": "CREATE",
	"kind": {"group": "example.com", "kind": obj.kind},
	"namespace": obj.metadata.namespace,
	"object": obj,
}

_warned(objects, bound, query_input) := found if {
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := admission.decision.warnings with input as query_input
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with admission._sample_bound as bound
}

_gateway_policy := testing.color("infra", "wide", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})

test_all_scopes_are_reported_while_they_are_few if {
	objects := array.concat(testing.world, _routes(["a", "b"]))
	_warned(objects, 10, _create(_gateway_policy)) == {"ColorPolicy/infra/wide becomes effective on 3 routes of namespace shop"}
}

test_of_many_scopes_a_part_is_reported_as_the_least if {
	objects := array.concat(testing.world, _routes(["a", "b", "c", "d"]))
	_warned(objects, 2, _create(_gateway_policy)) == {"ColorPolicy/infra/wide becomes effective on at least 2 routes of namespace shop"}
}

test_an_update_that_reaches_more_reports_the_new_targets if {
	objects := array.concat(testing.world, _routes(["a"]))
	before := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "a")], {"theme": "dark"})
	after := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "a"), testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	query_input := object.union(_create(after), {"operation": "UPDATE", "oldObject": before})
	_warned(array.concat(objects, [before]), 10, query_input) == {"ColorPolicy/shop/warm becomes effective on 1 route of namespace shop"}
}

test_a_policy_that_is_overridden_in_part_says_where if {
	strict := testing.color("infra", "strict", 1, [testing.ref("Gateway", "public")], {"overrides": {"strategy": "patch", "theme": "plain"}})
	warm := testing.color("shop", "warm", 2, [testing.ref("HTTPRoute", "cart")], {"strategy": "patch", "theme": "dark", "text": "black"})
	_warned(array.concat(testing.world, [strict]), 10, _create(warm)) == {
		"ColorPolicy/shop/warm is partly overridden by infra/strict (Patch overrides) on 1 of 1 route",
		"ColorPolicy/shop/warm becomes effective on 1 route of namespace shop",
	}
}

test_a_policy_of_which_a_part_has_no_effect_names_nobody_if_none_overrides_it if {
	kind := testing.policykind(object.union(testing.color_kind, {"merge": {"emptyLists": "Absent"}}))
	others := [obj | some obj in testing.world; obj.metadata.name != kind.metadata.name]
	pens := testing.color("infra", "pens", 1, [testing.ref("Gateway", "public")], {"strategy": "patch", "pens": {"ink": ["blue"]}})
	warm := testing.color("shop", "warm", 2, [testing.ref("HTTPRoute", "cart")], {"strategy": "patch", "theme": "dark", "pens": {"ink": []}})
	_warned(array.concat(others, [kind, pens]), 10, _create(warm)) == {
		"ColorPolicy/shop/warm is partly overridden on 1 of 1 route",
		"ColorPolicy/shop/warm becomes effective on 1 route of namespace shop",
	}
}

test_at_most_three_overriding_policies_are_named if {
	strict := [policy |
		some place, field in ["theme", "text", "size", "shape"]
		name := sprintf("strict-%d", [place])
		spec := {"overrides": {"strategy": "patch", field: "plain"}}
		policy := testing.color("infra", name, place, [testing.ref("Gateway", "public")], spec)
	]
	fields := {"strategy": "patch", "theme": "dark", "text": "black", "size": "small", "shape": "round", "font": "serif"}
	warm := testing.color("shop", "warm", 9, [testing.ref("HTTPRoute", "cart")], fields)
	three := "infra/strict-0 (Patch overrides), infra/strict-1 (Patch overrides), infra/strict-2 (Patch overrides)"
	_warned(array.concat(testing.world, array.slice(strict, 0, 3)), 10, _create(warm)) == {
		sprintf("ColorPolicy/shop/warm is partly overridden by %s on 1 of 1 route", [three]),
		"ColorPolicy/shop/warm becomes effective on 1 route of namespace shop",
	}
	_warned(array.concat(testing.world, strict), 10, _create(warm)) == {
		sprintf("ColorPolicy/shop/warm is partly overridden by %s and 1 more on 1 of 1 route", [three]),
		"ColorPolicy/shop/warm becomes effective on 1 route of namespace shop",
	}
}

test_a_direct_policy_is_reported_with_its_targets if {
	slow := testing.timeout("slow", 1, [testing.service_ref("cart")], {"request": "1s"})
	_warned(testing.world, 10, _create(slow)) == {"TimeoutPolicy/shop/slow becomes effective on 1 service of namespace shop"}
}
