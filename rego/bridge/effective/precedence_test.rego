package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

_key(name) := sprintf("example.com/ColorPolicy/shop/%s", [name])

_cart_ref := testing.ref("HTTPRoute", "cart")

# The fold of policies [name, spec], the established ones first.
_folded(policies) := folded if {
	objects := [testing.color("shop", policy[0], 1, [_cart_ref], policy[1]) | some policy in policies]
	attached := [{"policy": _key(policy[0]), "target": testing.cart_route} | some policy in policies]
	merged := effective.merged_stack(attached) with input as testing.changed(objects)
	folded := {"spec": merged.spec, "origins": merged.origins}
}

test_one_policy_is_its_own_effective_policy if {
	_folded([["a", {"x": 1}]]) == {"spec": {"x": 1}, "origins": {"/x": _key("a")}}
}

# F2
test_an_override_at_the_top_is_never_lost if {
	_folded([
		["a", {"overrides": {"x": "top"}}],
		["b", {"x": "middle"}],
		["c", {"x": "bottom"}],
	]) == {"spec": {"x": "top"}, "origins": {"/x": _key("a")}}
}

# F2
test_defaults_give_way_to_the_most_specific if {
	_folded([
		["a", {"x": "top"}],
		["b", {"x": "middle"}],
		["c", {"x": "bottom"}],
	]) == {"spec": {"x": "bottom"}, "origins": {"/x": _key("c")}}
}

# F1, F2: each pair by the established one's strategy.
test_each_pair_is_merged_by_the_strategy_of_its_established_one if {
	_folded([
		["a", {"defaults": {"x": "a", "y": "a", "z": "a", "strategy": "patch"}}],
		["b", {"overrides": {"y": "b", "strategy": "patch"}}],
		["c", {"x": "c", "y": "c"}],
	]) == {
		"spec": {"x": "c", "y": "b", "z": "a"},
		"origins": {"/x": _key("c"), "/y": _key("b"), "/z": _key("a")},
	}
}

# F3
test_a_tombstone_takes_a_field_away_and_leaves_its_origin if {
	_folded([
		["a", {"defaults": {"x": {"y": 1, "z": 2}, "strategy": "patch"}}],
		["b", {"x": {"y": null}}],
	]) == {"spec": {"x": {"z": 2}}, "origins": {"/x/y": _key("b"), "/x/z": _key("a")}}
}

# F3
test_a_tombstone_travels_to_a_value_farther_up if {
	_folded([
		["a", {"defaults": {"x": 1, "strategy": "patch"}}],
		["b", {"defaults": {"w": 1, "strategy": "patch"}}],
		["c", {"x": null}],
	]) == {"spec": {"w": 1}, "origins": {"/w": _key("b"), "/x": _key("c")}}
}

# F3
test_a_policy_that_sets_nothing_changes_no_patch_result if {
	without := _folded([["a", {"defaults": {"x": 1, "strategy": "patch"}}], ["c", {"y": null}]])
	with_empty := _folded([
		["a", {"defaults": {"x": 1, "strategy": "patch"}}],
		["b", {"defaults": {"strategy": "patch"}}],
		["c", {"y": null}],
	])
	without == with_empty
}
