package bridge.effective_test

import data.bridge.effective
import data.bridge.outcomes
import data.bridge.testing

_hue(name) := sprintf("example.com/HuePolicy/shop/%s", [name])

_levels := {
	"class": testing.ref("GatewayClass", "example"),
	"gateway": testing.far_ref("Gateway", "infra", "public"),
	"route": _cart_ref,
	"rule": testing.section_ref("HTTPRoute", "cart", "pay"),
}

# The effective policy for a kind with these fields, of policies [name, minute, level, spec]: `{spec, origins, outcomes, by}`.
_held(fields, policies) := {
	"spec": entry.spec,
	"origins": {pointer: _named(origin) | some pointer, origin in entry.origins},
	"outcomes": {_named(row.policy): row.outcome | some row in entry.policies},
	"by": {_named(row.policy): row.by | some row in rows; count(row.by) > 0},
} if {
	[entry, rows] := _rows_of(fields, policies)
}

_rows_of(fields, policies) := [entry, rows] if {
	kind := testing.policykind(object.union(testing.color_kind, object.union({"kind": "HuePolicy"}, fields)))
	objects := [object.union(testing.color("shop", policy[0], policy[1], refs, policy[3]), {"kind": "HuePolicy"}) |
		some policy in policies
		refs := [_levels[level] | some level in split(policy[2], ",")]
	]
	grant := testing.grant("infra", "example.com", "HuePolicy", "shop", testing.gateway_group, "Gateway")
	entry := effective.policies_of("example.com/HuePolicy", testing.cart_pay, "")[0] with input as testing.changed(array.concat(objects, [grant, kind]))
	rows := outcomes.outcomes_at("example.com/HuePolicy", testing.cart_pay) with input as testing.changed(array.concat(objects, [grant, kind]))
}

_named(key) := split(key, "/")[3] if is_string(key)

_named(keys) := [split(key, "/")[3] | some key in keys] if is_array(keys)

_over(spec) := {"overrides": object.union(spec, {"strategy": "patch"})}

_patch(spec) := {"defaults": object.union(spec, {"strategy": "patch"})}

# F4
test_strategy_from_challenger_uses_the_challengers_strategy if {
	policies := [
		["high", 1, "gateway", _over({"x": "high", "y": "high"})],
		["low", 2, "route", _patch({"x": "low"})],
		["rule", 3, "rule", {"overrides": {"z": "rule"}}],
	]
	_held({"strategyFrom": "Challenger"}, policies) == {
		"spec": {"x": "low", "y": "high"},
		"origins": {"/x": "low", "/y": "high"},
		"outcomes": {"high": "PartiallyProgrammed", "low": "Programmed", "rule": "Overridden"},
		"by": {"high": ["shop/low (Patch defaults)"], "rule": ["shop/high (Atomic overrides)", "shop/low (Atomic overrides)"]},
	}
}

# F4
test_merges_with_closest_merges_only_the_closest_two if {
	policies := [
		["high", 1, "gateway", {"overrides": {"x": "high"}}],
		["low", 2, "route", _over({"x": "low"})],
		["rule", 3, "rule", {"x": "rule", "y": "rule"}],
	]
	_held({"mergesWith": "Closest"}, policies) == {
		"spec": {"x": "low", "y": "rule"},
		"origins": {"/x": "low", "/y": "rule"},
		"outcomes": {"high": "Overridden", "low": "Programmed", "rule": "PartiallyProgrammed"},
		"by": {"high": ["shop/low, which is closer"], "rule": ["shop/low (Patch overrides)"]},
	}
}

# F4: what is too high to be merged is overridden by all who contributed.
test_what_is_not_among_the_closest_is_overridden_by_the_contributors if {
	policies := [
		["high", 1, "gateway", {"z": "high"}],
		["low", 2, "route", _patch({"y": "low"})],
		["rule", 3, "rule", _patch({"x": "rule"})],
	]
	held := _held({"mergesWith": "Closest", "strategyFrom": "Challenger"}, policies)
	held.spec == {"x": "rule", "y": "low"}
	held.by == {"high": ["shop/low, which is closer", "shop/rule, which is closer"]}
}

# F2, GEP-713 "Abstract process for calculating effective policies"
test_under_stack_the_result_carries_the_strategy_of_the_lower_one if {
	policies := [
		["high", 1, "gateway", {"overrides": {"x": "high"}}],
		["low", 2, "route", {"x": "low"}],
		["rule", 3, "rule", {"x": "rule"}],
	]
	_held({"fold": "Stack"}, policies) == {
		"spec": {"x": "rule"},
		"origins": {"/x": "rule"},
		"outcomes": {"high": "Overridden", "low": "Overridden", "rule": "Programmed"},
		"by": {"high": ["shop/rule (Atomic defaults)"], "low": ["shop/rule (Atomic defaults)"]},
	}
	_held({"fold": "Stack", "mergesWith": "Closest"}, array.slice(policies, 0, 2)).spec == {"x": "high"}
}

_same_level := [
	["old", 1, "route", _patch({"x": "old", "y": "old"})],
	["young", 2, "route", {"x": "young", "z": "young"}],
	["high", 3, "gateway", _patch({"x": "high", "w": "high"})],
]

# F5
test_the_oldest_of_a_level_wins_there_by_field_and_the_level_stands_as_one if {
	_held({"sameLevel": "OldestWins"}, _same_level) == {
		"spec": {"x": "old", "y": "old", "z": "young", "w": "high"},
		"origins": {"/x": "old", "/y": "old", "/z": "young", "/w": "high"},
		"outcomes": {"old": "Programmed", "young": "PartiallyProgrammed", "high": "PartiallyProgrammed"},
		"by": {"young": ["shop/old (Patch overrides)"], "high": ["shop/old (Patch defaults)"]},
	}
	_held({}, _same_level).spec == {"x": "young", "y": "old", "z": "young", "w": "high"}
}

# F5
test_an_atomic_oldest_policy_of_a_level_is_not_merged_within_it if {
	policies := [
		["old", 1, "route", {"x": "old"}],
		["young", 2, "route", _over({"y": "young"})],
		["rule", 3, "rule", {"z": "rule"}],
	]
	_held({"sameLevel": "OldestWins"}, policies).spec == {"z": "rule"}
	held := _held({"sameLevel": "OldestWins"}, array.slice(policies, 0, 2))
	held.spec == {"x": "old"}
	held.by == {"young": ["shop/old (Atomic overrides)"]}
}

# F4, F5
test_a_level_is_one_of_the_closest_two_and_goes_by_its_oldest_policy if {
	policies := array.concat(_same_level, [["class", 0, "rule", _patch({"v": "rule"})]])
	_held({"sameLevel": "OldestWins", "mergesWith": "Closest"}, policies).spec == {
		"x": "old", "y": "old", "z": "young", "v": "rule",
	}
	_held({"sameLevel": "OldestWins", "strategyFrom": "Challenger"}, policies).spec == {
		"x": "old", "y": "old", "z": "young", "v": "rule", "w": "high",
	}
	_held({"sameLevel": "OldestWins", "fold": "Stack"}, policies).spec == {
		"x": "old", "y": "old", "z": "young", "v": "rule", "w": "high",
	}
}

# F5, P4
test_a_namespace_that_holds_two_neighbours_on_a_path_is_two_levels if {
	attached := [
		{"policy": "a", "target": "gateway"},
		{"policy": "q", "target": "namespace"},
		{"policy": "r", "target": "namespace"},
		{"policy": "q", "target": "namespace"},
		{"policy": "r", "target": "namespace"},
	]
	sides := effective.all_sides("a kind", attached) with data.kinds as {"a kind": {"sameLevel": "OldestWins"}}
	sides == [["a"], ["q", "r"], ["q", "r"]]
}
