package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_granted(grant, target) if {
	hierarchy.is_granted("example.com/ColorPolicy/shop/warm", target) with input as {"changes": {"upsert": [grant]}}
} else := false

# Gateway API, ReferenceGrant.
test_a_grant_lets_a_kind_of_a_namespace_name_a_kind if {
	target := "gateway.networking.k8s.io/Gateway/infra/public"
	to := "gateway.networking.k8s.io"
	every row in [
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", to, "Gateway"), true],
		[testing.grant("infra", "example.com", "ColorPolicy", "blog", to, "Gateway"), false],
		[testing.grant("infra", "example.com", "TimeoutPolicy", "shop", to, "Gateway"), false],
		[testing.grant("infra", "", "ColorPolicy", "shop", to, "Gateway"), false],
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", to, "HTTPRoute"), false],
		[testing.grant("infra", "example.com", "ColorPolicy", "shop", "", "Gateway"), false],
		[testing.grant("shop", "example.com", "ColorPolicy", "shop", to, "Gateway"), false],
	] {
		[grant, wanted] := row
		_granted(grant, target) == wanted
	}
}

test_a_grant_may_be_for_one_name if {
	named := json.patch(
		testing.grant("infra", "example.com", "ColorPolicy", "shop", "", "Service"),
		[{"op": "add", "path": "/spec/to/0/name", "value": "cart"}],
	)
	_granted(named, "core/Service/infra/cart")
	not _granted(named, "core/Service/infra/catalog") == true
}
