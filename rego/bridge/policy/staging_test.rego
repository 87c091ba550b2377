package bridge.staging_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.policy as policies
import data.bridge.status as reporting
import data.bridge.testing

_dark := testing.color("infra", "dark", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})

_dry := object.union(
	testing.color("infra", "dry", 2, [testing.ref("HTTPRoute", "cart")], {"theme": "light"}),
	{"metadata": {"namespace": "shop", "annotations": {"example.com/dry-run": "true"}}},
)

_world(more) := {"changes": {"upsert": [described |
	staged := {"path": "/metadata/annotations/example.com~1dry-run", "value": "true"}
	some obj in array.concat(testing.world, array.concat([_dark], more))
	described := object.union(obj, {"spec": {"staged": staged | obj.kind == "PolicyKind"}})
]}}

_themes(query_input) := {entry.spec.theme | some entry in found} if {
	found := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as query_input
}

_key := "example.com/ColorPolicy/shop/dry"

test_a_staged_policy_has_no_effect if {
	_themes(_world([_dry])) == {"dark"}
	effective := object.union(_dry, {"metadata": {"annotations": {"example.com/dry-run": "false"}}})
	_themes(_world([effective])) == {"light"}
}

test_with_staged_policies_it_is_as_if_they_were_not if {
	asked := object.union(_world([_dry]), {"staged": true})
	_themes(asked) == {"light"}
	[entry] := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as asked
	entry.staged == [_key]
}

test_a_staged_policy_says_so if {
	message := "ColorPolicy/shop/dry is staged: it would be effective"
	reporting.outcome_message(_key, "Programmed", []) == message with input as _world([_dry])
	found := attachment.rejections("example.com/ColorPolicy", testing.cart_pay) with input as _world([_dry])
	found == {{"policy": _key, "target": testing.cart_route, "reason": "Staged", "message": message}}
}

test_every_policy_of_a_kind_may_be_staged if {
	world := {"changes": {"upsert": [object.union(obj, {"spec": {"staged": {"path": "/kind"} | obj.kind == "PolicyKind"}}) |
		some obj in array.concat(testing.world, [_dark])
	]}}
	_themes(world) == set()
	_themes(object.union(world, {"staged": true})) == {"dark"}
}

test_the_fields_of_staging_are_read if {
	policies.fields_of_facts == ["/metadata/annotations/example.com~1dry-run"] with input as _world([])
}

test_a_policy_without_a_description_of_staging_is_not_staged if {
	not policies.is_staged(_dry)
}
