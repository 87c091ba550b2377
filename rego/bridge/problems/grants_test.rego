package bridge.problems_test

import data.bridge.problems
import data.bridge.testing

_of_grant(from_group, from_kind, to_group, to_kind) := {[problem.reason, object.get(problem, "enforcementAction", "deny"), problem.message] |
	some problem in found
} if {
	given := testing.grant("shop", from_group, from_kind, "infra", to_group, to_kind)
	found := problems.of("gateway.networking.k8s.io/ReferenceGrant/shop/grant") with input as testing.changed([given])
}

test_a_misspelled_kind_of_a_grant_is_a_problem_with_the_nearest_name if {
	_of_grant("gateway.networking.k8s.io", "HTTPRoute", "", "Service") == set()
	_of_grant("gateway.networking.k8s.io", "HTTPRuote", "", "Srevice") == {
		["UnknownKind", "deny", `from[0]: no CRD defines "gateway.networking.k8s.io/HTTPRuote"; did you mean "gateway.networking.k8s.io/HTTPRoute"?`],
		["UnknownKind", "deny", `to[0]: no CRD defines "core/Srevice"; did you mean "core/Service"?`],
	}
}

test_a_misspelled_group_of_a_grant_is_a_problem if {
	count(_of_grant("gateway.netwrking.k8s.io", "HTTPRoute", "", "Service")) == 1
	_of_grant("gateway.networking.k8s.io/v1", "HTTPRoute", "core", "Service") == {
		["UnknownKind", "deny", `from[0]: no API group is "gateway.networking.k8s.io/v1"; write "gateway.networking.k8s.io"`],
		["UnknownKind", "deny", `to[0]: no API group is "core"; the core group is ""`],
	}
}

test_a_described_policy_kind_is_known_in_a_grant if {
	_of_grant("example.com", "ColorPolicy", "", "Secret") == set()
	count(_of_grant("example.com", "ColorPolcy", "", "Service")) == 1
}
