package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_services := ["core/Service/shop/cart", "core/Service/shop/cart#admin", "core/Service/shop/cart#http"]

test_scopes_are_what_the_policies_of_each_kind_reach if {
	all := v1.scopes with input as testing.changed([_warm, _slow])
	one := v1.scopes with input as _query_input([_warm, _slow], {"policyKind": _color})
	all == {_color: [_rule_one, testing.cart_pay], "example.com/TimeoutPolicy": _services}
	one == {_color: [_rule_one, testing.cart_pay]}
}

test_policies_are_the_keys_of_all_policies if {
	all := v1.policies with input as testing.changed([_warm, _slow])
	one := v1.policies with input as _query_input([_warm, _slow], {"policyKind": _color})
	[all, one] == [[_warm_key, _slow_key], [_warm_key]]
}

test_policykinds_are_all_active_or_not if {
	odd := testing.resource("policybridge.io/v1alpha1", "PolicyKind", "", "odd")
	found := v1.policykinds with input as testing.changed([odd])
	found == [
		"policybridge.io/PolicyKind/-/colorpolicy",
		"policybridge.io/PolicyKind/-/odd",
		"policybridge.io/PolicyKind/-/timeoutpolicy",
	]
}

test_active_kinds_are_reported_by_name if {
	found := v1.kinds_in_force with input as testing.changed([])
	object.keys(found) == {_color, "example.com/TimeoutPolicy"}
}

test_a_crd_whose_label_is_not_a_class_is_reported if {
	crd := object.union(
		testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "odds.acme.io"),
		{
			"metadata": {"labels": {"gateway.networking.k8s.io/policy": "Odd"}},
			"spec": {"group": "acme.io", "names": {"kind": "Odd"}, "versions": [{"name": "v1", "served": true}]},
		},
	)
	message := "label gateway.networking.k8s.io/policy: Odd is none of Direct, Inherited, true"
	found := v1.undescribed with input as testing.changed([crd])
	found == {"acme.io/Odd": {"crd": "apiextensions.k8s.io/CustomResourceDefinition/-/odds.acme.io", "message": message}}
}
