package bridge.attachment_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.index
import data.bridge.testing

# The verdicts on a policy's refs among these further objects, as [reason, message].
_verdicts(policy, objects) := [[verdict.reason, verdict.message] | some verdict in found] if {
	key := concat("/", ["example.com", policy.kind, object.get(policy.metadata, "namespace", "-"), policy.metadata.name])
	found := attachment.verdicts(key) with input as testing.changed(array.concat(objects, [policy]))
}

_color(refs) := testing.color("shop", "warm", 1, refs, {"theme": "dark"})

_accepted := ["Accepted", "Policy has been accepted"]

_infra_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "Gateway")

test_a_ref_to_an_existing_object_is_accepted if {
	_verdicts(_color([testing.ref("HTTPRoute", "cart"), testing.section_ref("HTTPRoute", "cart", "pay")]), []) == [_accepted, _accepted]
}

# T2
test_a_target_or_section_that_does_not_exist_is_not_found if {
	_verdicts(_color([testing.ref("HTTPRoute", "gone"), testing.section_ref("HTTPRoute", "cart", "gone")]), []) == [
		["TargetNotFound", "Target HTTPRoute/shop/gone is not found"],
		["TargetNotFound", "Target HTTPRoute/shop/cart#gone is not found"],
	]
}

test_target_that_the_user_may_not_read_is_not_called_missing if {
	policy := _color([testing.ref("HTTPRoute", "gone"), testing.ref("Gateway", "gone")])
	found := _verdicts(policy, []) with data.unread as {"gateway.networking.k8s.io/Gateway": []}
	[message | some [_, message] in found] == ["Target HTTPRoute/shop/gone is not found", "You can't read its target Gateway/shop/gone"]
}

# T2: nothing leaks of another namespace.
test_absent_and_not_granted_have_one_message if {
	message := "Target Gateway/infra/%s is not found, or no ReferenceGrant lets this policy name it"
	_verdicts(_color([testing.far_ref("Gateway", "infra", "public"), testing.far_ref("Gateway", "infra", "gone")]), []) == [
		["TargetNotFound", sprintf(message, ["public"])],
		["TargetNotFound", sprintf(message, ["gone"])],
	]
}

# T2
test_a_granted_target_is_accepted if {
	_verdicts(_color([testing.far_ref("Gateway", "infra", "public")]), [_infra_grant]) == [_accepted]
}

# T2
test_a_kind_that_the_policy_kind_does_not_list_is_invalid if {
	_verdicts(_color([testing.service_ref("cart")]), []) == [["Invalid", "ColorPolicy cannot target a Service"]]
}

# T2
test_a_group_that_does_not_fit_is_named if {
	wrong_group := object.union(testing.ref("HTTPRoute", "cart"), {"group": "networking.k8s.io"})
	_verdicts(_color([wrong_group]), []) == [[
		"Invalid",
		`ColorPolicy cannot target an HTTPRoute (its group is "networking.k8s.io"; did you mean "gateway.networking.k8s.io"?)`,
	]]
}

# T2
test_a_section_of_a_kind_without_sections_is_invalid if {
	_verdicts(testing.color("-", "warm", 1, [testing.section_ref("GatewayClass", "example", "x")], {}), []) == [[
		"Invalid",
		"ColorPolicy cannot target a section of a GatewayClass",
	]]
}

# K3
test_a_rules_place_is_not_a_section_name if {
	_verdicts(_color([testing.section_ref("HTTPRoute", "cart", "[1]")]), []) == [[
		"Invalid",
		`"[1]" is not a valid sectionName: give the rule a name, and use that name`,
	]]
}

# T2
test_a_namespace_that_the_policy_kind_forbids_is_invalid if {
	policy := testing.timeout("slow", 1, [object.union(testing.service_ref("cart"), {"namespace": "infra"})], {"request": "1s"})
	_verdicts(policy, []) == [[
		"Invalid",
		"TimeoutPolicy cannot target Service/infra/cart, which is in another namespace",
	]]
}

# T3
test_a_namespaced_policy_cannot_target_cluster_scoped_objects if {
	_verdicts(_color([testing.ref("GatewayClass", "example")]), []) == [[
		"Invalid",
		"A policy in a namespace cannot target GatewayClass/example, which is cluster-scoped",
	]]
}

_zone_kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule", "crossNamespace": "ReferenceGrant"})

_zone(namespace, refs) := testing.with_spec(
	testing.resource("example.com/v1", "ZonePolicy", namespace, "zone"),
	{"targetRefs": refs, "zone": "a"},
)

# T3
test_a_policy_may_target_its_own_namespace_but_no_other if {
	refs := [{"group": "", "kind": "Namespace", "name": "shop"}, {"group": "", "kind": "Namespace", "name": "infra"}]
	_verdicts(_zone("shop", refs), [_zone_kind]) == [
		_accepted,
		["Invalid", "A policy in a namespace cannot target Namespace/infra, which is cluster-scoped"],
	]
}

# T3
test_a_cluster_scoped_policy_needs_no_grant_but_names_the_namespace if {
	refs := [
		testing.far_ref("Gateway", "infra", "public"),
		testing.ref("Gateway", "public"),
		testing.ref("GatewayClass", "example"),
		testing.far_ref("Gateway", "infra", "gone"),
	]
	_verdicts(_zone("", refs), [_zone_kind]) == [
		_accepted,
		["Invalid", "A cluster-scoped policy must name the namespace of Gateway/public"],
		_accepted,
		["TargetNotFound", "Target Gateway/infra/gone is not found, or no ReferenceGrant lets this policy name it"],
	]
}

test_where_a_kind_lists_no_targets_sections_may_be_named if {
	_verdicts(_zone("shop", [testing.section_ref("HTTPRoute", "cart", "pay")]), [_zone_kind]) == [_accepted]
}

# T2, F7
test_an_invalid_policy_is_invalid_at_every_ref if {
	policy := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "gone")], {"strategy": "mix"})
	invalid := ["Invalid", concat("", [
		"Strategy mix is unknown; known are ",
		"AtomicDefaults, AtomicOverrides, PatchDefaults, PatchOverrides, atomic, patch",
	])]
	_verdicts(policy, []) == [invalid, invalid]
}

test_a_policy_without_spec_is_invalid_once if {
	bare := testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")
	message := attachment.policy_problem("example.com/ColorPolicy/shop/warm") with input as testing.changed([bare])
	message == "Policy has no spec"
}

test_a_policy_without_refs_is_invalid if {
	message := attachment.policy_problem("example.com/ColorPolicy/shop/warm") with input as testing.changed([_color([])])
	message == "Policy names no target: spec.targetRefs is missing or empty"
}

# T2: of two listeners of one name, which the API refuses, the first counts.
test_two_listeners_of_one_name_are_one_target if {
	listeners := [testing.listener("http", 80), testing.listener("http", 81)]
	twins := object.union(testing.gateway("twins", listeners), {"metadata": {"namespace": "shop"}})
	_verdicts(_color([testing.section_ref("Gateway", "twins", "http")]), [twins]) == [_accepted]
}

# T2
test_a_listener_that_does_not_exist_is_not_found if {
	own := object.union(testing.gateway("own", [testing.listener("http", 80)]), {"metadata": {"namespace": "shop"}})
	_verdicts(_color([testing.section_ref("Gateway", "own", "https"), testing.section_ref("Gateway", "own", "http")]), [own]) == [
		["TargetNotFound", "Target Gateway/shop/own#https is not found"],
		_accepted,
	]
}

# T1
test_a_group_with_a_version_is_its_group if {
	_verdicts(_color([object.union(testing.ref("HTTPRoute", "cart"), {"group": "gateway.networking.k8s.io/v1"})]), []) == [_accepted]
}

# T2
test_a_wrapper_that_is_not_an_object_is_invalid if {
	every value in ["x", 3, [], false] {
		_verdicts(testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"overrides": value}), []) == [[
			"Invalid",
			"/spec/overrides is not an object",
		]]
	}
}

# T2
test_two_strategies_at_once_are_invalid if {
	policy := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"overrides": {"a": 1}, "defaults": {"b": 1}})
	[[reason, message]] := _verdicts(policy, [])
	reason == "Invalid"
	startswith(message, "Fields beside /spec/overrides: ")
}

# T5
test_a_target_that_is_being_deleted_counts_until_it_is_removed if {
	leaving := object.union(testing.route("leaving", [], []), {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	_verdicts(_color([testing.ref("HTTPRoute", "leaving")]), [leaving]) == [_accepted]
}

# T4
test_a_verdict_stands_for_each_ref_in_the_policys_order if {
	_verdicts(_color([testing.ref("HTTPRoute", "gone"), testing.service_ref("cart"), {"kind": 3}, testing.ref("HTTPRoute", "cart")]), []) == [
		["TargetNotFound", "Target HTTPRoute/shop/gone is not found"],
		["Invalid", "ColorPolicy cannot target a Service"],
		["Invalid", "spec.targetRefs[2].name is missing or empty"],
		_accepted,
	]
}

_labelled(name, labels) := object.union(testing.route(name, [], []), {"metadata": {"labels": labels}})

_red := _labelled("red", {"color": "red", "tier": "front"})

_blue := _labelled("blue", {"color": "blue", "tier": "front"})

_far := object.union(_labelled("far", {"tier": "front"}), {"metadata": {"namespace": "infra"}})

_stored_kinds := {"example.com/ColorPolicy": testing.active_kind("example.com/ColorPolicy", testing.color_kind)}

_selector(fields) := object.union({"group": testing.gateway_group, "kind": "HTTPRoute"}, fields)

_front := _selector({"matchLabels": {"tier": "front"}})

_selecting(refs, selectors) := testing.color("shop", "warm", 1, refs, {"targetSelectors": selectors, "theme": "dark"})

_key(name) := sprintf("gateway.networking.k8s.io/HTTPRoute/shop/%s", [name])

_targets(policy, objects) := targets if {
	targets := attachment.targets(_warm_key) with input as testing.changed(array.concat(objects, [policy]))
}

_attached_to(names, policy, objects) := [attached |
	some name in names
	attached := attachment.attached_policies("example.com/ColorPolicy", _key(name)) with input as testing.changed(array.concat(objects, [policy]))
]

# T1
test_a_selector_stands_for_a_ref_to_each_object_of_its_kind_and_namespace_that_it_selects if {
	objects := [_red, _blue, _far]
	_targets(_selecting([], [_front]), objects) == {_key("red"), _key("blue")}
	_targets(_selecting([], [_selector({"matchLabels": {"color": "red"}})]), objects) == {_key("red")}
	_targets(_selecting([], [_selector({"matchExpressions": [{"key": "color", "operator": "Exists"}]})]), objects) == {_key("red"), _key("blue")}
	_targets(_selecting([], [_selector({})]), objects) == {_key("red"), _key("blue"), testing.cart_route}
	_targets(_selecting([testing.ref("HTTPRoute", "cart")], [_front]), objects) == {_key("red"), _key("blue"), testing.cart_route}
}

# T1
test_a_policy_is_attached_to_its_selection if {
	_attached_to(["red", "blue", "cart"], _selecting([], [_front]), [_red, _blue]) == [{_warm_key}, {_warm_key}, set()]
}

# P4
test_an_object_that_is_named_and_selected_counts_once if {
	policy := _selecting([testing.ref("HTTPRoute", "red")], [_front, _selector({"matchLabels": {"color": "red"}})])
	_verdicts(policy, [_red, _blue]) == [_accepted, _accepted]
	_attached_to(["red"], policy, [_red, _blue]) == [{_warm_key}]
}

# T1, T4
test_each_selected_object_has_a_verdict_of_its_own if {
	found := attachment.verdicts(_warm_key) with input as testing.changed([_red, _blue, _selecting([], [_front])])
	[[verdict.ref.key, verdict.reason] | some verdict in found] == [[_key("blue"), "Accepted"], [_key("red"), "Accepted"]]
}

# T1, T2
test_a_selector_that_selects_nothing_is_not_found if {
	none := _selector({"matchLabels": {"tier": "none"}})
	_verdicts(_selecting([], [none]), [_red]) == [[
		"TargetNotFound",
		"spec.targetSelectors[0] selects nothing: no HTTPRoute in namespace shop has such labels",
	]]
	_verdicts(_selecting([], [_front, none]), [_red])[1][0] == "TargetNotFound"
}

# T2
test_a_selector_of_a_kind_that_is_not_listed_is_invalid if {
	selector := {"group": "", "kind": "Service", "matchLabels": {"app": "cart"}}
	_verdicts(_selecting([], [selector]), []) == [["Invalid", "spec.targetSelectors[0]: ColorPolicy cannot target a Service"]]
}

# T3
test_a_policy_in_a_namespace_selects_nothing_that_is_cluster_scoped if {
	_verdicts(_selecting([], [{"group": testing.gateway_group, "kind": "GatewayClass"}]), []) == [[
		"Invalid",
		"spec.targetSelectors[0]: A namespaced policy selects objects in its namespace only, but a GatewayClass is cluster-scoped",
	]]
}

# T3
test_a_cluster_scoped_policy_selects_cluster_scoped_objects_alone if {
	class := object.union(testing.resource(testing.gateway_api, "GatewayClass", "", "paid"), {"metadata": {"labels": {"tier": "front"}}})
	policy := testing.color("", "warm", 1, [], {"targetSelectors": [_front, object.union(_front, {"kind": "GatewayClass"})]})
	_verdicts(policy, [class]) == [
		["Invalid", "spec.targetSelectors[0]: A cluster-scoped policy selects cluster-scoped objects only, but an HTTPRoute is namespaced"],
		_accepted,
	]
	attached := attachment.attached_policies("example.com/ColorPolicy", "gateway.networking.k8s.io/GatewayClass/-/paid") with input as testing.changed([class, policy])
	attached == {"example.com/ColorPolicy/-/warm"}
}

_anywhere(from) := object.union(_front, {"namespaces": from})

_route_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "HTTPRoute")

# T1
test_a_selector_of_namespaces_selects_where_a_grant_permits_it if {
	all := _selecting([], [_anywhere({"from": "All"})])
	far := "gateway.networking.k8s.io/HTTPRoute/infra/far"
	_targets(all, [_red, _far]) == {_key("red")}
	_targets(all, [_red, _far, _route_grant]) == {_key("red"), far}
	chosen := _selecting([], [_anywhere({"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "infra"}}})])
	_targets(chosen, [_red, _far, _route_grant]) == {far}
	_targets(_selecting([], [_anywhere({"from": "Same"})]), [_red, _far, _route_grant]) == {_key("red")}
}

test_target_that_the_user_may_not_read_is_not_called_missing if {
	policy := _color([testing.ref("HTTPRoute", "gone"), testing.ref("Gateway", "gone")])
	found := _verdicts(policy, []) with data.unread as {"gateway.networking.k8s.io/Gateway": []}
	[message | some [_, message] in found] == ["Target HTTPRoute/shop/gone is not found", "You can't read its target Gateway/shop/gone"]
}

# T2: nothing leaks of another namespace.
test_objects_without_a_grant_are_treated_as_missing if {
	all := _selecting([], [_anywhere({"from": "All"})])
	_verdicts(all, [_red, _far]) == [_accepted]
	_verdicts(all, [_far]) == [["TargetNotFound", "spec.targetSelectors[0] selects nothing: no HTTPRoute has such labels"]]
}

# T2
test_an_entry_that_is_no_selector_is_invalid_by_itself if {
	fields := "group, kind, matchLabels, matchExpressions, namespaces"
	namespaces := "{from: Same}, {from: All} or {from: Selector, selector}"
	cases := [
		["x", "spec.targetSelectors[1] is not an object"],
		[{"matchLabels": {}}, "spec.targetSelectors[1].kind is missing or empty"],
		[{"kind": 3}, "spec.targetSelectors[1].kind is not a string"],
		[_selector({"sectionName": "x"}), sprintf("spec.targetSelectors[1].sectionName: a selector has only %s", [fields])],
		[_selector({"namespace": "infra"}), sprintf("spec.targetSelectors[1].namespace: a selector has only %s", [fields])],
		[_selector({"name": "red"}), sprintf("spec.targetSelectors[1].name: a selector has only %s", [fields])],
		[_selector({"matchLabels": ["a"]}), "spec.targetSelectors[1].matchLabels must be a map of strings"],
		[_selector({"matchLabels": {"a": 1}}), "spec.targetSelectors[1].matchLabels must be a map of strings"],
		[_selector({"matchExpressions": {}}), "spec.targetSelectors[1].matchExpressions must be a list of {key, operator, values}"],
		[_selector({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}), "spec.targetSelectors[1].matchExpressions must be a list of {key, operator, values}"],
		[_selector({"matchExpressions": [{"key": "a", "operator": "In"}]}), "spec.targetSelectors[1].matchExpressions must be a list of {key, operator, values}"],
		[_selector({"namespaces": "All"}), sprintf("spec.targetSelectors[1].namespaces must be %s", [namespaces])],
		[_selector({"namespaces": {"from": "None"}}), sprintf("spec.targetSelectors[1].namespaces must be %s", [namespaces])],
		[_selector({"namespaces": {"from": "Selector"}}), sprintf("spec.targetSelectors[1].namespaces must be %s", [namespaces])],
	]
	every case in cases {
		_verdicts(_selecting([], [_front, case[0]]), [_red]) == [_accepted, ["Invalid", case[1]]]
	}
	_verdicts(_selecting([testing.ref("HTTPRoute", "cart")], {"a": _front}), []) == [["Invalid", "spec.targetSelectors is not a list"]]
}

# T2
test_an_invalid_policy_selects_nothing if {
	policy := testing.color("shop", "warm", 1, [], {"targetSelectors": [_front], "strategy": "mix"})
	_targets(policy, [_red]) == set()
	[[reason, _]] := _verdicts(policy, [_red])
	reason == "Invalid"
}

# T1
test_a_selector_is_an_entry_of_the_index_by_its_field if {
	text := `{"matchExpressions":[],"matchLabels":{"tier":"front"}}`
	index.entries(_selecting([], [_front, {"kind": 3}])) == {
		{"path": ["selectors", "shop", "gateway.networking.k8s.io/HTTPRoute", text], "value": true},
		{"path": ["selecting", "example.com/ColorPolicy"], "value": true},
	}
}

# T1
test_stored_and_changed_policies_select_alike if {
	objects := [_red, _blue, _selecting([], [_front])]
	stored := attachment.attached_policies("example.com/ColorPolicy", _key("red")) with data.objects as testing.stored(array.concat(testing.world, objects))
		with data.index as testing.stored_index(array.concat(testing.world, objects))
		with data.kinds as _stored_kinds
	stored == {_warm_key}
	change := {"changes": {"upsert": [_selecting([], [_selector({"matchLabels": {"color": "blue"}})])]}}
	moved := attachment.attached_policies("example.com/ColorPolicy", _key("red")) with data.objects as testing.stored(array.concat(testing.world, objects))
		with data.index as testing.stored_index(array.concat(testing.world, objects))
		with data.kinds as _stored_kinds
		with input as change
	moved == set()
}

# F5
test_one_target_belongs_to_the_oldest_whether_named_or_selected if {
	service := object.union(testing.service("a", []), {"metadata": {"labels": {"tier": "front"}}})
	by_selector := testing.timeout("older", 1, [], {"targetSelectors": [{"kind": "Service", "matchLabels": {"tier": "front"}}], "request": "1s"})
	_verdicts(_younger([testing.service_ref("a")]), [by_selector, service]) == [[
		"Conflicted",
		"The older TimeoutPolicy/shop/older already targets Service/shop/a",
	]]
}

_paid := object.union(testing.gateway("paid", [testing.listener("http", 80)]), {"spec": {"gatewayClassName": "paid"}})

_route := testing.route("both", [{"name": "public", "namespace": "infra", "sectionName": "http"}, {"name": "paid", "namespace": "infra"}], [{"name": "one"}])

_both := "gateway.networking.k8s.io/HTTPRoute/shop/both"

_limited(class) := object.union(testing.ref("HTTPRoute", "both"), {"className": class})

# The Gateways on whose paths a policy with these refs counts, for the rule of a route below a Gateway of class `example`
# and one of a class `paid` that is not an object.
_counts_below(refs) := {gateway |
	policy := testing.color("shop", "warm", 1, refs, {"theme": "dark"})
	some entry in _at(policy)
	some node in entry.path
	startswith(node, "gateway.networking.k8s.io/Gateway/infra/")
	not contains(node, "#")
	gateway := split(node, "/")[3]
}

_at(policy) := entries if {
	entries := effective.policies_of("example.com/ColorPolicy", sprintf("%s#one", [_both]), "") with input as testing.changed([_paid, _route, policy])
}

# T1
test_a_ref_with_a_class_name_counts_on_paths_through_that_class if {
	_counts_below([_limited("example")]) == {"public"}
	_counts_below([_limited("paid")]) == {"paid"}
	_counts_below([_limited("other")]) == set()
	_counts_below([_limited("")]) == {"public", "paid"}
	_counts_below([testing.ref("HTTPRoute", "both")]) == {"public", "paid"}
}

# T1, P4
test_a_policy_with_several_refs_to_a_target_counts_wherever_one_of_them_does if {
	_counts_below([_limited("example"), _limited("paid")]) == {"public", "paid"}
	_counts_below([_limited("example"), testing.ref("HTTPRoute", "both")]) == {"public", "paid"}
	_counts_below([_limited("example"), testing.section_ref("HTTPRoute", "both", "one")]) == {"public", "paid"}
}

test_nothing_of_the_limit_is_left_in_a_stack if {
	policy := testing.color("shop", "warm", 1, [_limited("paid")], {"theme": "dark"})
	[entry] := _at(policy)
	entry.policies == [{
		"policy": _warm_key,
		"target": _both,
		"strategy": "AtomicDefaults",
		"outcome": "Programmed",
		"overriddenBy": [],
	}]
}

# T1, C2
test_a_direct_policy_with_a_class_name_applies_below_that_class if {
	counts := [class |
		some class in ["example", "paid"]
		ref := object.union(testing.service_ref("cart"), {"className": class})
		policy := testing.timeout("slow", 1, [ref], {"request": "1s"})
		found := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/cart#http", "") with input as testing.changed([policy])
		count(found) == 1
	]
	counts == ["example"]
}

test_a_limited_attachment_is_reported_for_the_paths_that_it_is_off if {
	policy := testing.color("shop", "warm", 1, [_limited("paid")], {"theme": "dark"})
	refused := attachment.rejections("example.com/ColorPolicy", sprintf("%s#one", [_both])) with input as testing.changed([_paid, _route, policy])
	refused == {_reported(_warm_key, _both, "OtherClass", "className limits it to paths through GatewayClass/paid")}
}

test_a_policy_with_a_class_name_is_in_the_index_as_such if {
	policy := testing.color("shop", "warm", 1, [_limited("paid")], {})
	{"path": ["limited", "example.com/ColorPolicy"], "value": true} in index.entries(policy)
	count([1 | some entry in index.entries(_color([testing.ref("HTTPRoute", "both")])); entry.path[0] == "limited"]) == 0
}

# P4
test_an_attachment_with_a_ref_that_is_not_limited_is_reported_nowhere if {
	policy := testing.color("shop", "warm", 1, [_limited("paid"), testing.ref("HTTPRoute", "both")], {"theme": "dark"})
	refused := attachment.rejections("example.com/ColorPolicy", sprintf("%s#one", [_both])) with input as testing.changed([_paid, _route, policy])
	refused == set()
}

_refused(policy_kind, node, policies) := refused if {
	refused := attachment.rejections(policy_kind, node) with input as testing.changed(policies)
}

_reported(policy, target, reason, message) := {"policy": policy, "target": target, "reason": reason, "message": message}

# T2, T5
test_ignored_policies_of_any_level_of_a_path_are_reported_with_their_reason if {
	section := testing.section_ref("HTTPRoute", "cart", "gone")
	leaving := object.union(
		testing.color("shop", "leaving", 1, [testing.ref("HTTPRoute", "cart")], {}),
		{"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}},
	)
	policies := [
		testing.color("shop", "far", 1, [testing.far_ref("Gateway", "infra", "public")], {}),
		testing.color("shop", "gone", 1, [section, testing.section_ref("HTTPRoute", "cart", "pay")], {}),
		testing.color("shop", "elsewhere", 1, [testing.section_ref("HTTPRoute", "cart", "[1]")], {}),
		leaving,
	]
	gateway := "gateway.networking.k8s.io/Gateway/infra/public"
	not_granted := "Target Gateway/infra/public is not found, or no ReferenceGrant lets this policy name it"
	_refused("example.com/ColorPolicy", testing.cart_pay, policies) == {
		_reported("example.com/ColorPolicy/shop/far", gateway, "TargetNotFound", not_granted),
		_reported("example.com/ColorPolicy/shop/gone", sprintf("%s#gone", [testing.cart_route]), "TargetNotFound", "Target HTTPRoute/shop/cart#gone is not found"),
		_reported("example.com/ColorPolicy/shop/leaving", testing.cart_route, "Deleting", "ColorPolicy/shop/leaving is being deleted"),
	}
}

# F5
test_the_loser_of_a_conflict_is_reported_at_the_target if {
	message := "The older TimeoutPolicy/shop/older already targets Service/shop/cart"
	_refused("example.com/TimeoutPolicy", "core/Service/shop/cart#http", [_older, _younger([_cart_ref])]) == {_reported(
		"example.com/TimeoutPolicy/shop/younger",
		"core/Service/shop/cart",
		"Conflicted",
		message,
	)}
}

test_where_all_count_nothing_is_reported if {
	_refused("example.com/TimeoutPolicy", "core/Service/shop/cart", [_older]) == set()
	_refused("example.com/ColorPolicy", testing.cart_pay, [_color([testing.ref("HTTPRoute", "cart")])]) == set()
}
