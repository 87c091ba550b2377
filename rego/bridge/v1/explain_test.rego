package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_explained(objects, fields) := found if {
	found := v1.explain with input as _query_input(objects, object.union({"policyKind": _color}, fields))
}

test_explain_tells_the_steps_and_what_does_not_count if {
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	_explained([_warm, far], {"target": testing.cart_pay}) == [{
		"target": testing.cart_pay,
		"policyKind": _color,
		"paths": [object.union(_entry_at(testing.cart_pay).paths[0], {"steps": []})],
		"attachments": [{
			"policy": "example.com/ColorPolicy/shop/far",
			"target": "gateway.networking.k8s.io/Gateway/infra/public",
			"reason": "TargetNotFound",
			"message": "Target Gateway infra/public is not found, or no ReferenceGrant lets this policy name it",
		}],
		"links": [],
	}]
}

test_explain_answers_for_each_target_below if {
	[entry.target | some entry in _explained([_warm], {"target": "gateway.networking.k8s.io/Gateway/infra/public"})] == _both
}

test_explain_lists_a_kind_of_which_nothing_counts if {
	far := testing.color("shop", "far", 2, [testing.far_ref("Gateway", "infra", "public")], {})
	[[entry.paths, count(entry.attachments)] | some entry in _explained([far], {"target": testing.cart_pay})] == [[[], 1]]
	_explained([], {"target": testing.cart_pay}) == []
}

test_explain_tells_the_links_that_do_not_count if {
	shut := testing.route("cart", [{"name": "gone", "namespace": "infra"}], [{"name": "pay"}])
	others := [obj | some obj in testing.world; obj.metadata.name != "cart"]
	found := v1.explain with input as {"target": testing.cart_pay, "policyKind": _color, "changes": {"upsert": array.concat(others, [shut])}}
	[[link.parent, link.reason] | some link in found[0].links] == [["gateway.networking.k8s.io/Gateway/infra/gone", "ParentNotFound"]]
}

test_a_bad_target_is_an_error if {
	every row in [
		[{}, "InvalidInput"],
		[{"target": 3}, "InvalidInput"],
		[{"target": "Service/cart"}, "InvalidInput"],
		[{"target": "core/Service/shop/gone"}, "TargetNotFound"],
		[{"target": testing.cart_pay, "policyKind": "example.com/Foo"}, "UnknownPolicyKind"],
	] {
		_explained([], row[0]).error.code == row[1]
	}
}
