package bridge.policy_test

import data.bridge.kinds
import data.bridge.policy as policies
import data.bridge.testing

_stored_facts(by) := {"example.com": {"ColorPolicy": {"shop": {"warm": {"by": by, "strategy": "Stored"}}}}}

_stored_kinds := found if {
	found := kinds.active_kinds with input as testing.changed([])
}

_warm_policy := testing.color("shop", "warm", 1, [_cart_ref], {"a": 1})

# What the strategy of a policy is, by facts with this hash, of kinds that are stored, after these changes.
_strategy(by, changes) := found if {
	found := policies.strategy_of(_warm) with data.objects as testing.stored(array.concat(testing.world, [_warm_policy]))
		with data.kinds as _stored_kinds
		with data.facts as _stored_facts(by)
		with input as changes
}

_current := _stored_kinds["example.com/ColorPolicy"].by

test_stored_facts_count_while_what_they_are_made_from_is_current if {
	_strategy(_current, {}) == "Stored"
	_strategy("another", {}) == "AtomicDefaults"
}

test_stored_facts_do_not_count_for_a_policy_that_changes if {
	_strategy(_current, {"changes": {"upsert": [_warm_policy]}}) == "AtomicDefaults"
	not _strategy(_current, {"changes": {"delete": [_warm]}})
}

test_stored_facts_count_under_other_changes_unless_these_change_the_kind if {
	_strategy(_current, {"changes": {"upsert": [testing.service("new", [])]}}) == "Stored"
	other := testing.policykind(object.union(testing.color_kind, {"defaultStrategy": "PatchDefaults"}))
	_strategy(_current, {"changes": {"upsert": [other]}}) == "PatchDefaults"
	same := testing.policykind(object.union(testing.timeout_kind, {"conditions": "Enforced"}))
	_strategy(_current, {"changes": {"upsert": [same]}}) == "Stored"
}

test_facts_of_a_policy_depend_on_that_policy_alone if {
	facts := policies.facts(_warm) with input as testing.changed([testing.color("shop", "warm", 1, [_cart_ref], {"a": null, "strategy": "patch"})])
	object.remove(facts, ["by"]) == {
		"order": [1767225660000000000, "shop/warm", _warm],
		"refs": [{"object": testing.cart_route, "section": "", "key": testing.cart_route}],
		"near": {testing.cart_route: true},
		"spec": {"a": null},
		"origins": {"/a": _warm},
		"strategy": "PatchDefaults",
		"rules": [],
		"leaves": 1,
		"tombstones": true,
	}
}

test_policy_above_a_bound_has_no_spec_and_no_refs if {
	facts := policies.facts_of(testing.color("shop", "warm", 1, [_cart_ref], {"a": 1, "b": 2})) with input as testing.changed([])
		with data.bridge_settings.bounds as {"leaves": 1}
	facts.refs == []
	startswith(facts.invalid, "Policy has ")
	not facts.spec
}

test_object_of_no_policy_kind_has_no_facts if {
	not policies.facts("core/Service/shop/cart") with input as testing.changed([])
}
