package bridge.policy_test

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.policy
import data.bridge.testing

_limit_kind := {
	"group": "acme.io",
	"kind": "LimitPolicy",
	"class": "Direct",
	"targets": [{"group": "", "kind": "Service"}, {"group": testing.gateway_group, "kind": "Gateway"}],
	"selectors": [
		{
			"path": "/spec/selector",
			"by": "Workloads",
			"targets": [{"group": "", "kind": "Service"}, {"group": testing.gateway_group, "kind": "Gateway"}],
			"controllers": ["example.com/ours"],
			"exceptClasses": ["waypoint"],
		},
		{
			"path": "/spec/pods",
			"namespaces": "/spec/in",
			"by": "Workloads",
			"targets": [{"group": "", "kind": "Service"}],
		},
	],
	"rootNamespace": "root",
	"specPaths": [{"path": "/spec", "without": ["selector", "pods", "in"]}],
	"defaultStrategy": "Additive",
}

_limit(namespace, spec) := testing.with_spec(testing.resource("acme.io/v1", "LimitPolicy", namespace, "limit"), spec)

_limited(name, namespace, labels) := testing.with_spec(testing.resource("v1", "Service", namespace, name), {"selector": labels, "ports": [{"port": 80}]})

_services := [_limited("till", "shop", {"app": "cart", "tier": "front"}), _limited("bank", "bank", {"app": "bank", "tier": "front"})]

_selected(namespace, spec, objects) := {ref.object | some ref in refs} if {
	refs := policy.declared_refs(concat("/", ["acme.io/LimitPolicy", {true: "-", false: namespace}[namespace == ""], "limit"])) with input as testing.changed(array.concat(
		[testing.policykind(_limit_kind), _limit(namespace, spec)],
		array.concat(_services, objects),
	))
}

_till := "core/Service/shop/till"

_bank := "core/Service/bank/bank"

_public := "gateway.networking.k8s.io/Gateway/infra/public"

# T8
test_field_selects_services_with_the_labels_on_all_pods if {
	_selected("shop", {"selector": {"matchLabels": {"app": "cart"}}}, []) == {_till}
	_selected("shop", {"selector": {"app": "cart", "tier": "front"}}, []) == {_till}
	_selected("shop", {"selector": {"matchLabels": {"app": "cart", "version": "v1"}}}, []) == set()
	_selected("bank", {"selector": {"matchLabels": {"app": "cart"}}}, []) == set()
}

# T8
test_policy_of_the_root_namespace_selects_in_all_namespaces if {
	_selected("root", {"selector": {"matchLabels": {"tier": "front"}}}, []) == {_till, _bank}
	_selected("", {"selector": {"matchLabels": {"tier": "front"}}}, []) == {_till, _bank}
	_selected("root", {"selector": {"matchLabels": {"app": "bank"}}}, []) == {_bank}
}

# T8
test_policy_without_a_field_selects_all_of_its_namespace if {
	_selected("shop", {}, []) == {_till}
	_selected("bank", {"rate": 1}, []) == {_bank}
	_selected("infra", {}, []) == {_public}
	_till in _selected("root", {}, [])
}

# T8
test_policy_that_names_targets_is_not_selected_by_its_fields if {
	_selected("shop", {"targetRefs": [testing.service_ref("other")], "selector": {"matchLabels": {"app": "cart"}}}, []) == {"core/Service/shop/other"}
}

# T8
test_gateway_has_the_labels_that_gateway_api_gives_its_pods if {
	labels := {"gateway.networking.k8s.io/gateway-name": "public"}
	_selected("infra", {"selector": {"matchLabels": labels}}, []) == {_public}
	_selected("infra", {"selector": {"matchLabels": {"gateway.networking.k8s.io/gateway-class-name": "example"}}}, []) == {_public}
	edge := object.union(testing.gateway("edge", []), {"spec": {"infrastructure": {"labels": {"team": "a"}}}})
	_selected("infra", {"selector": {"matchLabels": {"team": "a"}}}, [edge]) == {"gateway.networking.k8s.io/Gateway/infra/edge"}
}

# T8, P8
test_gateways_of_other_controllers_and_excepted_classes_are_not_selected if {
	theirs := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "theirs"), {"controllerName": "example.com/theirs"})
	ours := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "ours"), {"controllerName": "example.com/ours"})
	gateways := [gateway |
		some class in ["ours", "theirs", "waypoint"]
		gateway := object.union(testing.gateway(class, []), {"spec": {"gatewayClassName": class}})
	]
	_selected("infra", {}, array.concat([theirs, ours], gateways)) == {_public, "gateway.networking.k8s.io/Gateway/infra/ours"}
}

# T8
test_namespaces_of_a_selector_are_selected_by_their_labels if {
	tenant := object.union(testing.resource("v1", "Namespace", "", "bank"), {"metadata": {"labels": {"tenant": "a"}}})
	spec := {"pods": {"matchLabels": {"tier": "front"}}, "in": {"matchLabels": {"tenant": "a"}}}
	_selected("root", spec, [tenant]) == {_bank}
	_selected("root", object.union(object.remove(spec, ["in"]), {"in": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}), [tenant]) == {_till}
	_selected("root", object.remove(spec, ["in"]), [tenant]) == {_till, _bank}
}

# T8
test_wider_policies_are_above_narrower_ones if {
	breadths := [breadth |
		some [namespace, spec] in [["root", {}], ["root", {"selector": {"a": "b"}}], ["shop", {}], ["shop", {"selector": {}}], ["shop", {"selector": {"a": "b"}}], ["shop", {"targetRefs": [testing.service_ref("cart")]}]]
		breadth := policy.breadth("acme.io/LimitPolicy", _limit(namespace, spec)) with data.kinds as _limit_kinds
	]
	breadths == [0, 1, 2, 2, 3, 3]
}

_limit_kinds := {"acme.io/LimitPolicy": testing.active_kind("acme.io/LimitPolicy", _limit_kind)}

# T8
test_stored_and_changed_policies_select_workloads_alike if {
	limit := _limit("root", {"selector": {"app": "cart"}})
	entries := policy.entries(limit) with data.kinds as _limit_kinds
	entries == {
		{"path": ["selecting", "acme.io/LimitPolicy"], "value": true},
		{"path": ["selectors", "*", "core/Service", _text], "value": true},
		{"path": ["selectors", "*", "gateway.networking.k8s.io/Gateway", _text], "value": true},
	}
	stored := {"selecting": {"acme.io/LimitPolicy": {_limit_key: true}}, "selectors": {"*": {"core/Service": {_text: {_limit_key: true}}}}}
	found := attachment.attached_policies("acme.io/LimitPolicy", _till) with data.objects as testing.stored(array.concat(_services, [limit]))
		with data.index as stored
		with data.kinds as _limit_kinds
	found == {_limit_key}
	change := {"changes": {"upsert": [_limit("root", {"selector": {"app": "bank"}})]}}
	moved := [attached |
		some target in [_till, _bank]
		attached := attachment.attached_policies("acme.io/LimitPolicy", target) with data.objects as testing.stored(array.concat(_services, [limit]))
			with data.index as stored
			with data.kinds as _limit_kinds
			with input as change
	]
	moved == [set(), {_limit_key}]
}

# T8, K1: a what-if of the kind alone.
test_stored_policies_select_by_the_fields_of_a_changed_kind if {
	limit := _limit("root", {"selector": {"app": "cart"}, "other": {"app": "bank"}})
	stored := {"selecting": {"acme.io/LimitPolicy": {_limit_key: true}}, "selectors": {"*": {"core/Service": {_text: {_limit_key: true}}}}}
	moved := object.union(_limit_kind, {"selectors": [object.union(_limit_kind.selectors[0], {"path": "/spec/other"})]})
	every row in [
		[_limit_kind, {_till}],
		[moved, {_bank}],
		[object.remove(_limit_kind, ["rootNamespace"]), set()],
		[object.remove(_limit_kind, ["selectors"]), set()],
	] {
		found := {target |
			some target in [_till, _bank]
			_limit_key in attachment.attached_policies("acme.io/LimitPolicy", target)
		} with data.objects as testing.stored(array.concat(_services, [limit]))
			with data.index as stored
			with data.kinds as _limit_kinds
			with input as {"changes": {"upsert": [testing.policykind(row[0])]}}
		found == row[1]
	}
}

# T8, K1
test_stored_policies_select_nothing_until_their_kind_has_selectors if {
	limit := _limit("root", {"selector": {"app": "cart"}})
	plain := {"acme.io/LimitPolicy": testing.active_kind("acme.io/LimitPolicy", object.remove(_limit_kind, ["selectors"]))}
	attached := [found |
		some changes in [{}, {"upsert": [testing.policykind(_limit_kind)]}]
		found := attachment.attached_policies("acme.io/LimitPolicy", _till) with data.objects as testing.stored(array.concat(_services, [limit]))
			with data.index as {}
			with data.kinds as plain
			with input as {"changes": changes}
	]
	attached == [set(), {_limit_key}]
}

_limit_key := "acme.io/LimitPolicy/root/limit"

_text := `{"by":"Workloads","controllers":["example.com/ours"],"exceptClasses":["waypoint"],"matchExpressions":[],"matchLabels":{"app":"cart"},"namespaces":{}}`

# T8
test_policykind_selects_only_possible_targets if {
	kinds.problems(object.union(_limit_kind, {"targets": [{"group": "", "kind": "Service"}]})) == ["selectors[0].targets[1]: targets does not list Gateway"]
	kinds.problems(_limit_kind) == []
}

# T8
test_changed_policy_selects_objects_of_its_own_namespace_and_kinds_alone if {
	found := {target: attached |
		some target in [_till, _bank, _public, "core/Namespace/-/shop"]
		attached := attachment.attached_policies("acme.io/LimitPolicy", target) with input as testing.changed(array.concat(
			[testing.policykind(_limit_kind), _limit("shop", {})],
			_services,
		))
	}
	found == {_till: {"acme.io/LimitPolicy/shop/limit"}, _bank: set(), _public: set(), "core/Namespace/-/shop": set()}
}

# T8
test_policy_with_target_selectors_alone_selects_nothing_else if {
	selector := {"group": "", "kind": "Service", "matchLabels": {"a": "b"}}
	_selected("shop", {"targetSelectors": [selector]}, []) == set()
	_selected("shop", {"targetSelectors": [selector], "selector": {"app": "till"}}, []) == set()
}
