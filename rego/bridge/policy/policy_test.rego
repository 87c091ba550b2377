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

test_stored_facts_count_while_their_sources_are_current if {
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

test_a_bare_spec_is_the_spec_without_targets_and_strategy if {
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
			"A strategy at /spec/strategy is ignored beside /spec/overrides: ",
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

# F7
test_a_strategy_is_the_kinds_word_or_gep_713s_name if {
	every row in [
		[{}, "AtomicDefaults"],
		[{"strategy": null}, "AtomicDefaults"],
		[{"strategy": "atomic"}, "AtomicDefaults"],
		[{"strategy": "patch"}, "PatchDefaults"],
		[{"strategy": "Patch"}, "PatchDefaults"],
		[{"strategy": "PatchOverrides"}, "PatchOverrides"],
		[{"strategy": "Patch overrides"}, "PatchOverrides"],
		[{"defaults": {"strategy": "patch"}}, "PatchDefaults"],
		[{"overrides": {"strategy": "patch"}}, "PatchOverrides"],
		[{"overrides": {"strategy": "atomic"}}, "AtomicOverrides"],
		[{"defaults": {"strategy": "AtomicOverrides"}}, "AtomicOverrides"],
	] {
		_proper(row[0]).strategy == row[1]
	}
}

# C3, T2
test_an_unknown_strategy_is_an_error_and_so_is_none_of_an_inherited_kind if {
	known := "AtomicDefaults, AtomicOverrides, PatchDefaults, PatchOverrides, atomic, patch"
	every row in [["mix", "mix"], ["None", "None"], [3, "3"], [["patch"], `["patch"]`], ["", ""], [false, "false"]] {
		[value, shown] := row
		_proper({"strategy": value}) == {"error": sprintf("Strategy %s is unknown; known are %s", [shown, known])}
	}
}

# F7
test_a_granularity_alone_takes_the_direction_of_the_kinds_default if {
	kind := testing.policykind(object.union(testing.color_kind, {"kind": "HuePolicy", "defaultStrategy": "AtomicOverrides"}))
	policy := object.union(testing.color("shop", "warm", 1, [_cart_ref], {"strategy": "patch"}), {"kind": "HuePolicy"})
	proper := _said("example.com/HuePolicy/shop/warm") with input as testing.changed([kind, policy])
	proper == {"spec": {}, "strategy": "PatchOverrides", "pointers": {""}}
}

# C2
test_a_direct_policy_names_no_strategy_but_none if {
	kind := testing.policykind(object.union(testing.timeout_kind, {"specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]}))
	others := [obj | some obj in testing.world; obj.metadata.name != "timeoutpolicy"]
	proper := [found |
		some strategy in ["None", "PatchOverrides", "Atomic"]
		policy := testing.timeout("slow", 1, [testing.service_ref("cart")], {"strategy": strategy})
		found := _said("example.com/TimeoutPolicy/shop/slow") with input as {"changes": {"upsert": array.concat(others, [kind, policy])}}
	]
	proper == [
		{"spec": {}, "strategy": "None", "pointers": {""}},
		{"error": "Strategy PatchOverrides is unknown; known are None"},
		{"error": "Strategy Atomic is unknown; known are None"},
	]
}
