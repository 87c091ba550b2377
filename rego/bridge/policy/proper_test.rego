package bridge.policy_test

import data.bridge.policy as policies
import data.bridge.testing

_warm := "example.com/ColorPolicy/shop/warm"

_cart_ref := testing.ref("HTTPRoute", "cart")

# What facts say of a spec proper, in short: `{spec, strategy, pointers}` or `{error}`.
_said(key) := {"error": policies.facts(key).invalid} if {
	policies.facts(key).invalid
} else := {"spec": known.spec, "strategy": known.strategy, "pointers": object.keys(known.origins)} if {
	known := policies.facts(key)
}

_proper(spec) := proper if {
	proper := _said(_warm) with input as testing.changed([testing.color("shop", "warm", 1, [_cart_ref], spec)])
}

test_a_bare_spec_is_what_is_left_without_targets_and_strategy if {
	_proper({"theme": "dark", "strategy": "patch"}) == {
		"spec": {"theme": "dark"},
		"strategy": "PatchDefaults",
		"pointers": {"/theme"},
	}
}

# F6
test_a_wrapper_holds_the_spec_and_gives_the_direction if {
	_proper({"overrides": {"theme": "dark", "strategy": "patch"}}) == {
		"spec": {"theme": "dark"},
		"strategy": "PatchOverrides",
		"pointers": {"/theme"},
	}
}

# GEP-713 "Selecting a merge strategy at runtime"
test_a_wrapper_alone_is_atomic if {
	_proper({"overrides": {}}) == {"spec": {}, "strategy": "AtomicOverrides", "pointers": {""}}
	_proper({"defaults": {"a": null}}) == {"spec": {"a": null}, "strategy": "AtomicDefaults", "pointers": {"/a"}}
}

# F6, T2
test_a_second_wrapper_or_a_field_beside_one_is_an_error if {
	message := "Fields beside /spec/overrides: %s. A policy has one wrapper and nothing beside it"
	every row in [
		[{"overrides": {"a": 1}, "defaults": {"a": 2}}, "/spec/defaults"],
		[{"overrides": {"a": 1}, "theme": "dark"}, "theme"],
		[{"overrides": {"a": 1}, "defaults": {}, "theme": "dark"}, "/spec/defaults, theme"],
	] {
		_proper(row[0]) == {"error": sprintf(message, [row[1]])}
	}
}

# T2, GEP-713 "Selecting a merge strategy at runtime"
test_a_second_strategy_beside_a_wrapper_is_an_error if {
	every inside in [{}, {"strategy": "atomic"}] {
		_proper({"overrides": inside, "strategy": "patch"}) == {"error": concat("", [
			"A strategy at /spec/strategy does not count beside /spec/overrides: ",
			"a policy names one strategy, at /spec/overrides/strategy",
		])}
	}
	_proper({"overrides": {}, "strategy": null}).strategy == "AtomicOverrides"
}

# F6
test_two_wrappers_are_an_error_where_the_kind_has_no_bare_spec if {
	wrapped := object.union(testing.color_kind, {"specPaths": array.slice(testing.color_kind.specPaths, 0, 2)})
	kind := testing.created(testing.policykind(object.union(wrapped, {"kind": "HuePolicy"})), 0)
	policy := object.union(testing.color("shop", "warm", 1, [_cart_ref], {"overrides": {}, "defaults": {}}), {"kind": "HuePolicy"})
	proper := _said("example.com/HuePolicy/shop/warm") with input as testing.changed([kind, policy])
	proper == {"error": "Fields beside /spec/overrides: /spec/defaults. A policy has one wrapper and nothing beside it"}
}

test_a_null_wrapper_or_field_is_none if {
	_proper({"overrides": null, "defaults": {"a": 1}, "theme": null}) == {
		"spec": {"a": 1},
		"strategy": "AtomicDefaults",
		"pointers": {"/a"},
	}
}

test_a_null_wrapper_is_no_tombstone_of_a_bare_spec if {
	_proper({"overrides": null, "theme": "dark"}) == {"spec": {"theme": "dark"}, "strategy": "AtomicDefaults", "pointers": {"/theme"}}
}

test_a_spec_that_is_not_an_object_is_an_error if {
	_proper({"overrides": ["dark"]}) == {"error": "/spec/overrides is not an object"}
	odd := testing.with_spec(testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"), ["dark"])
	proper := _said(_warm) with input as testing.changed([odd])
	proper == {"error": "/spec is not an object"}
}

test_a_policy_without_spec_is_an_error if {
	every policy in [
		testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"),
		testing.with_spec(testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"), null),
	] {
		proper := _said(_warm) with input as testing.changed([policy])
		proper == {"error": "Policy has no spec"}
	}
}
