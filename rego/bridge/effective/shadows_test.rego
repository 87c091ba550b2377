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
