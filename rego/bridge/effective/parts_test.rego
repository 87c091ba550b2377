package bridge.effective_test

import data.bridge.effective
import data.bridge.outcomes
import data.bridge.testing

_both_fields := {
	"wrappers": "Both",
	"specPaths": [
		{"path": "/spec/override", "strategy": "PatchOverrides"},
		{"path": "/spec/default", "strategy": "PatchDefaults"},
		{"path": "/spec"},
	],
	"merge": {"append": ["/log"]},
}

_both_kind := object.union(object.remove(testing.color_kind, ["strategies", "specPaths"]), object.union({"kind": "HuePolicy"}, _both_fields))

_both_world(policies) := object.union({}, testing.changed(array.concat([testing.policykind(_both_kind), _hue_grant], [
object.union(testing.color("shop", policy[0], policy[1], [_levels[policy[2]]], policy[3]), {"kind": "HuePolicy"}) |
	some policy in policies
])))

_hue_grant := testing.grant("infra", "example.com", "HuePolicy", "shop", testing.gateway_group, "Gateway")

_both_held(policies) := [entry.spec, origins, fates, by] if {
	entry := effective.policies_of("example.com/HuePolicy", testing.cart_pay, "")[0] with input as _both_world(policies)
	rows := outcomes.outcomes_at("example.com/HuePolicy", testing.cart_pay) with input as _both_world(policies)
	origins := {pointer: _named(origin) | some pointer, origin in entry.origins}
	fates := {_named(row.policy): row.outcome | some row in entry.policies}
	by := {_named(row.policy): row.by | some row in rows; count(row.by) > 0}
}

# GEP-713, first version, "Hierarchy": A override > B override > C override > C default > B default > A default.
test_overrides_win_from_the_top_and_defaults_from_the_bottom if {
	every row in [
		[[], "C default"],
		[["override C"], "C override"],
		[["override C", "override B"], "B override"],
		[["override A", "override B"], "A override"],
		[["no default C"], "B default"],
		[["no default C", "no default B"], "A default"],
		[["no default C", "override A"], "A override"],
	] {
		[said, expected] := row
		policies := [[lower(name), minute, level, spec] |
			some [name, minute, level] in [["A", 3, "gateway"], ["B", 2, "route"], ["C", 1, "rule"]]
			spec := object.union(
				{"default": {"x": sprintf("%s default", [name]) | not sprintf("no default %s", [name]) in said}},
				{"override": {"x": sprintf("%s override", [name]) | sprintf("override %s", [name]) in said}},
			)
		]
		_both_held(policies)[0] == {"x": expected}
	}
}

# F6, O2
test_a_pointer_that_both_parts_of_a_policy_set_is_one_leaf if {
	_both_held([
		["high", 1, "gateway", {"override": {"x": 1, "y": {"z": 1}}, "default": {"x": 2, "w": 2}}],
		["low", 2, "route", {"default": {"w": 3, "v": 3, "y": {}}}],
	]) == [
		{"x": 1, "w": 3, "v": 3, "y": {"z": 1}},
		{"/x": "high", "/w": "low", "/v": "low", "/y/z": "high"},
		{"high": "PartiallyProgrammed", "low": "PartiallyProgrammed"},
		{"high": ["shop/low (Patch defaults)"], "low": ["shop/high (Patch overrides)"]},
	]
}

# F6
test_a_bare_spec_is_a_default_and_within_a_level_the_oldest_wins if {
	_both_held([
		["high", 9, "gateway", {"x": "high", "y": "high"}],
		["old", 1, "route", {"x": "old", "override": null}],
		["young", 2, "route", {"default": {"x": "young", "z": "young"}, "override": {"v": "young"}}],
	]) == [
		{"x": "old", "y": "high", "z": "young", "v": "young"},
		{"/x": "old", "/y": "high", "/z": "young", "/v": "young"},
		{"high": "PartiallyProgrammed", "old": "Programmed", "young": "PartiallyProgrammed"},
		{"high": ["shop/old (Patch defaults)"], "young": ["shop/old (Patch defaults)"]},
	]
}

# F8
test_what_both_parts_of_a_policy_append_stays_overrides_first if {
	held := _both_held([
		["high", 1, "gateway", {"override": {"log": [1]}, "default": {"log": [2]}}],
		["low", 2, "route", {"override": {"log": [3]}}],
	])
	held[0] == {"log": [1, 3, 2]}
	held[1] == {"/log/0": "high", "/log/1": "low", "/log/2": "high"}
	held[2] == {"high": "Programmed", "low": "Programmed"}
}
