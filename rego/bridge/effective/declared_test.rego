package bridge.effective_test

import data.bridge.effective
import data.bridge.scopes
import data.bridge.testing

_rate_kind := testing.policykind({
	"group": "example.com",
	"kind": "RatePolicy",
	"effectiveTarget": "Target",
	"crossNamespace": "ReferenceGrant",
	"defaultStrategy": "PatchDefaults",
	"targets": [
		{"group": testing.gateway_group, "kind": "Gateway", "sections": true},
		{"group": testing.gateway_group, "kind": "HTTPRoute", "sections": true},
	],
})

_rate(name, minute, ref, spec) := object.union(testing.color("shop", name, minute, [ref], spec), {"kind": "RatePolicy"})

_rates := [
	_rate_kind,
	testing.grant("infra", "example.com", "RatePolicy", "shop", testing.gateway_group, "Gateway"),
	_rate("gateway", 1, testing.far_ref("Gateway", "infra", "public"), {"rate": 10, "burst": 5}),
	_rate("route", 2, testing.ref("HTTPRoute", "cart"), {"rate": 3}),
]

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

# C1
test_an_inherited_kind_may_act_at_its_declared_targets_alone if {
	found := {node: specs |
		some node in [_gateway, testing.listener_http, testing.cart_route, testing.cart_pay]
		specs := [entry.spec |
			some entry in effective.policies_of("example.com/RatePolicy", node, "") with input as testing.changed(_rates)
		]
	}
	found == {
		_gateway: [{"rate": 10, "burst": 5}],
		testing.listener_http: [],
		testing.cart_route: [{"rate": 3, "burst": 5}],
		testing.cart_pay: [],
	}
}

# C1
test_its_scopes_are_the_node_and_targets_of_policies_below_it if {
	all := [found |
		some node in [_gateway, testing.listener_http, testing.cart_route, testing.cart_pay]
		found := scopes.scopes_at_or_below("example.com/RatePolicy", node) with input as testing.changed(_rates)
	]
	all == [{_gateway, testing.cart_route}, {testing.listener_http, testing.cart_route}, {testing.cart_route}, {testing.cart_pay}]
}

# C1, O4
test_a_policy_reaches_the_declared_targets_below_its_own if {
	reached := scopes.candidate_scopes("example.com/RatePolicy/shop/gateway") with input as testing.changed(_rates)
	reached == {_gateway, testing.cart_route}
}

# T1: a target that a policy is kept off by its className is none on that path.
test_a_path_that_the_targets_own_policy_is_kept_off_is_none if {
	limited := _rate("route", 2, object.union(testing.ref("HTTPRoute", "cart"), {"className": "other"}), {"rate": 3})
	found := effective.policies_of("example.com/RatePolicy", testing.cart_route, "") with input as testing.changed(array.concat(array.slice(_rates, 0, 3), [limited]))
	found == []
}
