package bridge.attachment_test

import data.bridge.attachment
import data.bridge.index
import data.bridge.kinds
import data.bridge.testing

_labelled(name, labels) := object.union(testing.route(name, [], []), {"metadata": {"labels": labels}})

_red := _labelled("red", {"color": "red", "tier": "front"})

_blue := _labelled("blue", {"color": "blue", "tier": "front"})

_far := object.union(_labelled("far", {"tier": "front"}), {"metadata": {"namespace": "infra"}})

_stored_kinds := {"example.com/ColorPolicy": kinds.normal_form("example.com/ColorPolicy", testing.color_kind)}

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
test_a_policy_is_attached_to_what_it_selects if {
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
		"spec.targetSelectors[0]: A policy in a namespace selects there; a GatewayClass is cluster-scoped",
	]]
}

# T3
test_a_cluster_scoped_policy_selects_cluster_scoped_objects_alone if {
	class := object.union(testing.resource(testing.gateway_api, "GatewayClass", "", "paid"), {"metadata": {"labels": {"tier": "front"}}})
	policy := testing.color("", "warm", 1, [], {"targetSelectors": [_front, object.union(_front, {"kind": "GatewayClass"})]})
	_verdicts(policy, [class]) == [
		["Invalid", "spec.targetSelectors[0]: A cluster-scoped policy selects cluster-scoped objects; a HTTPRoute is in a namespace"],
		_accepted,
	]
	attached := attachment.attached_policies("example.com/ColorPolicy", "gateway.networking.k8s.io/GatewayClass/-/paid") with input as testing.changed([class, policy])
	attached == {"example.com/ColorPolicy/-/warm"}
}

# T2
test_an_entry_that_is_no_selector_is_invalid_by_itself if {
	fields := "group, kind, matchLabels, matchExpressions"
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
test_a_selector_is_an_entry_of_the_index_by_what_it_selects_by if {
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
		"Service shop/a belongs to the older TimeoutPolicy shop/older",
	]]
}
