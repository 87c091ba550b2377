package bridge.shadows_test

import data.bridge.effective
import data.bridge.testing

_policy := testing.color("infra", "dark", 1, [testing.ref("Gateway", "public")], {"theme": "dark", "depth": {"a": 1, "b": 2}})

# The world with fields in the first rule of the route, and with these shadows of the kind.
_world(shadows, fields) := {"changes": {"upsert": [changed |
	some obj in array.concat(testing.world, [_policy])
	changed := object.union(obj, object.union_n([
		{"spec": {"shadowedBy": shadows | obj.metadata.name == "colorpolicy"; obj.kind == "PolicyKind"}},
		{"spec": {"rules": [object.union(rule, fields) | some rule in obj.spec.rules] | obj.kind == "HTTPRoute"}},
	]))
]}}

_entry(shadows, fields) := entry if {
	[entry] := effective.policies_of("example.com/ColorPolicy", testing.cart_pay, "") with input as _world(shadows, fields)
}

_dark := "example.com/ColorPolicy/infra/dark"

test_field_of_the_rule_goes_before_the_policys if {
	entry := _entry([{"path": "/theme", "rule": "/look/theme"}], {"look": {"theme": "pale"}})
	entry.spec == {"theme": "pale", "depth": {"a": 1, "b": 2}}
	entry.origins == {"/theme": testing.cart_pay, "/depth/a": _dark, "/depth/b": _dark}
	entry.shadowed == [{"path": "/theme", "value": "dark", "policies": [_dark], "by": testing.cart_pay, "field": "/look/theme"}]
	[found] := effective.values_at(entry, "/theme")
	[found.value, found.policies] == ["pale", [testing.cart_pay]]
}

test_filter_of_the_rule_is_named_by_its_type if {
	filters := [{"type": "Mirror"}, {"type": "Look", "look": {"theme": "pale"}}, {"type": "Mirror"}]
	_entry([{"path": "/theme", "rule": "/filters/Look/look/theme"}], {"filters": filters}).spec.theme == "pale"
	not _entry([{"path": "/theme", "rule": "/filters/Other/look"}], {"filters": filters}).shadowed
}

test_only_fields_of_both_are_shadowed if {
	not _entry([{"path": "/theme", "rule": "/look/theme"}], {}).shadowed
	not _entry([{"path": "/contrast", "rule": "/look"}], {"look": 3}).shadowed
	not _entry([{"path": "/theme", "rule": "/look", "unless": "/plain"}], {"look": "pale", "plain": true}).shadowed
}

test_field_that_goes_as_a_whole_has_the_values_that_the_rule_has if {
	shadow := {"path": "/depth", "rule": "/look", "values": {"/depth/c/d": "/look/c", "/depth/e": "/look/e"}}
	entry := _entry([shadow], {"look": {"c": [7]}})
	entry.spec == {"theme": "dark", "depth": {"c": {"d": [7]}}}
	entry.origins == {"/theme": _dark, "/depth/c/d": testing.cart_pay}
}

test_last_of_several_shadows_counts if {
	entry := _entry([{"path": "/theme", "rule": "/look"}, {"path": "/theme", "rule": "/other"}], {"look": "pale", "other": "loud"})
	entry.spec.theme == "loud"
	[one.field | some one in entry.shadowed] == ["/other"]
}

test_explanation_and_comparison_have_it_too if {
	world := _world([{"path": "/theme", "rule": "/look"}], {"look": "pale"})
	found := effective.explanations("example.com/ColorPolicy", testing.cart_pay, "") with input as world
	[entry.spec.theme | some entry in found] == ["pale"]
}

test_entry_of_the_kind_that_counts_has_nothing_of_another_with_its_path if {
	first := {"path": "/depth", "rule": "/look", "unless": "/plain", "values": {"/depth/a": "/look"}}
	entry := _entry([first, {"path": "/depth", "rule": "/other"}], {"look": 7, "other": 8})
	entry.spec.depth == 8
	[one.field | some one in entry.shadowed] == ["/other"]
	_entry([first, {"path": "/depth", "rule": "/other"}], {"look": 7, "other": 8, "plain": true}).spec.depth == 8
}

_delegating(delegated, own) := {"changes": {"upsert": [changed |
	some obj in array.concat(testing.world, [
		_policy,
		testing.route("above", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [object.union(delegated, {
			"name": "hand",
			"matches": [{"path": {"value": "/a"}}],
			"backendRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "below"}],
		})]),
		testing.route("below", [], [object.union(own, {"name": "own", "matches": [{"path": {"value": "/a/b"}}]})]),
	])
	changed := object.union(obj, {"spec": {"shadowedBy": [{"path": "/theme", "rule": "/look"}, {"path": "/theme", "rule": "/other"}] | obj.metadata.name == "colorpolicy"; obj.kind == "PolicyKind"}})
]}}

test_lowest_rule_with_any_such_field_counts if {
	below := "gateway.networking.k8s.io/HTTPRoute/shop/below#own"
	above := "gateway.networking.k8s.io/HTTPRoute/shop/above#hand"
	every case in [
		{"above": {"other": "loud"}, "below": {"look": "pale"}, "theme": "pale", "by": below},
		{"above": {"other": "loud"}, "below": {}, "theme": "loud", "by": above},
		{"above": {"look": "pale"}, "below": {"look": "dim", "other": "loud"}, "theme": "loud", "by": below},
	] {
		[entry] := effective.policies_of("example.com/ColorPolicy", below, "") with input as _delegating(case.above, case.below)
		entry.spec.theme == case.theme
		[one.by | some one in entry.shadowed] == [case.by]
	}
}
