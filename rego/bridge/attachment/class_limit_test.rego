package bridge.attachment_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.index
import data.bridge.testing

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
	refused == {_reported(_warm_key, _both, "OtherClass", "className limits it to paths through GatewayClass paid")}
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
