package bridge.index_test

import data.bridge.index
import data.bridge.testing

_gateway_key := "gateway.networking.k8s.io/Gateway/shop/public"

_policy(spec) := testing.with_spec(testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"), spec)

_refs(spec) := [ref.key | some ref in index.target_refs(_policy(spec))]

# T1
test_a_ref_is_its_object_and_section if {
	index.target_refs(_policy({"targetRefs": [testing.section_ref("Gateway", "public", "http")]})) == [{
		"object": _gateway_key,
		"section": "http",
		"key": sprintf("%s#http", [_gateway_key]),
	}]
}

# T1
test_a_group_may_carry_a_version if {
	_refs({"targetRefs": [{"group": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "public"}]}) == [_gateway_key]
}

# T1
test_the_singular_target_ref_counts_where_there_are_no_others if {
	one := testing.ref("Gateway", "public")
	other := testing.ref("Gateway", "other")
	_refs({"targetRef": one}) == [_gateway_key]
	_refs({"targetRef": one, "targetRefs": []}) == [_gateway_key]
	_refs({"targetRef": one, "targetRefs": null}) == [_gateway_key]
	_refs({"targetRef": other, "targetRefs": [one]}) == [_gateway_key]
}

test_a_ref_without_namespace_names_the_policys_own_or_a_cluster_scoped_object if {
	_refs({"targetRefs": [
		testing.service_ref("cart"),
		{"group": "", "kind": "Namespace", "name": "shop"},
		testing.ref("GatewayClass", "example"),
		testing.far_ref("Gateway", "infra", "public"),
		{"group": null, "kind": "Service", "name": "cart", "namespace": null, "sectionName": null},
	]}) == [
		"core/Service/shop/cart",
		"core/Namespace/-/shop",
		"gateway.networking.k8s.io/GatewayClass/-/example",
		"gateway.networking.k8s.io/Gateway/infra/public",
		"core/Service/shop/cart",
	]
}

test_a_name_that_no_object_can_have_is_no_ref if {
	_refs({"targetRefs": [
		null,
		"public",
		{},
		{"kind": "Service"},
		{"name": "cart"},
		{"kind": "", "name": "cart"},
		{"kind": "Service", "name": ""},
		{"kind": "Service", "name": 3},
		{"kind": "Service", "name": "cart#http"},
		{"kind": "Service", "name": "cart@frontend"},
		{"kind": "Service", "name": "a/b"},
		{"kind": "Service", "name": "cart", "namespace": ["shop"]},
		{"kind": "Service", "name": "cart", "sectionName": 80},
		testing.service_ref("good"),
	]}) == ["core/Service/shop/good"]
}

test_a_policy_without_spec_or_with_an_odd_one_has_no_refs if {
	every spec in [{}, null, [], "x", {"targetRefs": "x"}, {"targetRefs": 3}, {"targetRef": "x"}] {
		_refs(spec) == []
	}
	index.target_refs(testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")) == []
}

test_a_policy_in_another_namespace_than_its_target_refers_there if {
	policy := _policy({"targetRefs": [testing.far_ref("Gateway", "infra", "public")]})
	index.entries(policy) == {
		{"path": ["attached", "example.com/ColorPolicy", "gateway.networking.k8s.io/Gateway/infra/public"], "value": true},
		{"path": ["targeted", "gateway.networking.k8s.io/Gateway/infra/public"], "value": true},
		{"path": ["referrers", "infra"], "value": true},
	}
}

test_label_selector_of_another_form_is_none if {
	every value in [
		"app=cart",
		{"matchExpressions": ["app"]},
		{"matchExpressions": [{"key": "app", "operator": "Is"}]},
		{"matchExpressions": [{"key": "app", "operator": "In", "values": []}]},
		{"matchLabels": {"app": 1}},
		{"app": 1},
	] {
		not index.label_selector(value)
	}
	index.label_selector({"app": "cart"}) == {"matchLabels": {"app": "cart"}, "matchExpressions": []}
	index.label_selector({"matchLabels": {"app": "cart"}}) == {"matchLabels": {"app": "cart"}, "matchExpressions": []}
}

test_ref_with_the_group_core_is_flawed if {
	ref := {"group": "core", "kind": "Service", "name": "cart"}
	_refs({"targetRefs": [ref]}) == []
	index.ref_flaw("spec.targetRefs[0]", ref) == `spec.targetRefs[0].group: no API has the group core: write "" for Service`
}
