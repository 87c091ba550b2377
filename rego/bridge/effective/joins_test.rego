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
test_with_parent_levels_the_most_specific_policy_merges_with_the_closest_parent_by_its_own_strategy if {
	policies := [
		["high", 1, "gateway", _over({"x": "high", "y": "high"})],
		["low", 2, "route", _over({"x": "low"})],
		["rule", 3, "rule", _patch({"x": "rule", "z": "rule"})],
	]
	_held({"parentLevels": ["Gateway", "GatewayClass"]}, policies) == {
		"spec": {"x": "rule", "y": "high", "z": "rule"},
		"origins": {"/x": "rule", "/y": "high", "/z": "rule"},
		"outcomes": {"high": "PartiallyProgrammed", "low": "Overridden", "rule": "Programmed"},
		"by": {
			"high": ["shop/rule (Patch defaults)"],
			"low": ["shop/rule (the most specific policy, which skips this one)"],
		},
	}
	_held({"parentLevels": ["Route", "Gateway"]}, policies).spec == {"x": "rule", "z": "rule"}
	_held({"parentLevels": ["Listener"]}, policies).spec == {"x": "rule", "z": "rule"}
	_held({"parentLevels": ["Route"]}, [policies[1], ["rule", 3, "rule", {"y": "rule"}]]).spec == {"y": "rule"}
	_held({"parentLevels": ["Route"]}, [policies[1], ["rule", 3, "rule", _over({"x": "rule", "y": "rule"})]]).spec == {"x": "low", "y": "rule"}
	_held({"parentLevels": ["Route"]}, [policies[1], ["rule", 3, "rule", {"overrides": {"y": "rule"}}]]).spec == {"x": "low"}
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

# F5, P4
test_a_namespace_that_holds_two_neighbours_on_a_path_is_two_levels if {
	attached := [
		{"policy": "g/K/n/a", "target": "gateway"},
		{"policy": "g/K/n/q", "target": "namespace"},
		{"policy": "g/K/n/r", "target": "namespace"},
		{"policy": "g/K/n/q", "target": "namespace"},
		{"policy": "g/K/n/r", "target": "namespace"},
	]
	sides := effective.sides(attached) with data.kinds as {"g/K": {"traits": {"joins": "levels"}}}
	sides == [["g/K/n/a"], ["g/K/n/q", "g/K/n/r"], ["g/K/n/q", "g/K/n/r"]]
}
