package bridge.attachment_test

import data.bridge.attachment
import data.bridge.testing

_warm_key := "example.com/ColorPolicy/shop/warm"

test_policies_are_attached_to_the_objects_of_accepted_refs if {
	refs := [testing.ref("HTTPRoute", "cart"), testing.section_ref("HTTPRoute", "cart", "pay"), testing.ref("HTTPRoute", "gone")]
	document := testing.changed([_color(refs)])
	attached := [policies |
		some node in [testing.cart_route, testing.cart_pay, testing.listener_http]
		policies := attachment.attached_policies("example.com/ColorPolicy", node) with input as document
	]
	targets := attachment.targets(_warm_key) with input as document
	attached == [{_warm_key}, {_warm_key}, set()]
	targets == {testing.cart_route, testing.cart_pay}
}

# K2
test_a_policy_is_attached_to_a_port_by_its_name_only if {
	attached := {section: policies |
		some section in ["http", "80"]
		policy := testing.timeout("slow", 1, [object.union(_cart_ref, {"sectionName": section})], {"request": "1s"})
		policies := attachment.attached_policies("example.com/TimeoutPolicy", "core/Service/shop/cart#http") with input as testing.changed([policy])
	}
	attached == {"http": {"example.com/TimeoutPolicy/shop/slow"}, "80": set()}
}

# T5
test_a_policy_that_is_being_deleted_is_attached_to_nothing if {
	leaving := object.union(_color([testing.ref("HTTPRoute", "cart")]), {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	attached := attachment.attached_policies("example.com/ColorPolicy", testing.cart_route) with input as testing.changed([leaving])
	targets := attachment.targets(_warm_key) with input as testing.changed([leaving])
	[attached, targets] == [set(), set()]
}
