package bridge.policy_test

import data.bridge.policy

_described := {"example.com/ColorPolicy": {"targets": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]}}

_undescribed := {"example.com/PlainPolicy": {"class": "Direct"}}

test_a_group_is_a_mistake_where_another_one_has_the_kind if {
	hint := policy.group_hint("example.com/ColorPolicy", "networking.k8s.io/HTTPRoute") with data.kinds as _described
	hint == ` (its group is "networking.k8s.io"; did you mean "gateway.networking.k8s.io"?)`
}

test_a_kind_that_may_target_anything_has_the_groups_of_the_hierarchy if {
	hint := policy.group_hint("example.com/PlainPolicy", "apps/Service") with data.kinds as _undescribed
	hint == ` (its group is "apps"; did you mean ""?)`
}

test_a_kind_of_no_known_group_has_no_hint if {
	every type in ["gateway.networking.k8s.io/HTTPRoute", "core/Service", "example.com/Queue"] {
		policy.group_hint("example.com/ColorPolicy", type) == "" with data.kinds as _described
		policy.group_hint("example.com/PlainPolicy", type) == "" with data.kinds as _undescribed
	}
}
