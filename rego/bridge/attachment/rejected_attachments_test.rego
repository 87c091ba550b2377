package bridge.attachment_test

import data.bridge.attachment
import data.bridge.testing

_refused(policy_kind, node, policies) := refused if {
	refused := attachment.rejections(policy_kind, node) with input as testing.changed(policies)
}

_reported(policy, target, reason, message) := {"policy": policy, "target": target, "reason": reason, "message": message}

# T2, T5
test_what_does_not_count_on_any_level_of_a_path_is_reported_with_its_reason if {
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
	not_granted := "Target Gateway infra/public is not found, or no ReferenceGrant lets this policy name it"
	_refused("example.com/ColorPolicy", testing.cart_pay, policies) == {
		_reported("example.com/ColorPolicy/shop/far", gateway, "TargetNotFound", not_granted),
		_reported("example.com/ColorPolicy/shop/gone", sprintf("%s#gone", [testing.cart_route]), "TargetNotFound", "Target HTTPRoute shop/cart#gone is not found"),
		_reported("example.com/ColorPolicy/shop/leaving", testing.cart_route, "Deleting", "ColorPolicy shop/leaving is being deleted"),
	}
}

# F5
test_the_loser_of_a_conflict_is_reported_at_the_target if {
	message := "Service shop/cart belongs to the older TimeoutPolicy shop/older"
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
