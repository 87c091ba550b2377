package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_rate_kind(name, minute, fields) := testing.created(
	testing.with_spec(testing.resource("policybridge.io/v1alpha1", "PolicyKind", "", name), object.union(_least, fields)),
	minute,
)

_type := "acme.io/RatePolicy"

_preset := {"rates": {"group": "acme.io", "kind": "RatePolicy", "effectiveTarget": "Gateway", "conditions": "Enforced"}}

_in_force(objects, presets) := {type: object.remove(kind, ["by", "preset", "traits"]) | some type, kind in found} if {
	found := kinds.active_kinds with input as {"changes": {"upsert": objects}} with data.bridge_settings.presets as presets
}

_normal(spec, layers) := object.union(kinds.normal_form(_type, spec), {"layers": layers})

# K1
test_a_preset_is_active if {
	_in_force([], _preset) == {_type: _normal(_preset.rates, ["Preset"])}
}

# K1
test_a_policykind_overrides_the_preset_field_by_field if {
	described := object.union(_preset.rates, {"effectiveTarget": "Route", "mode": "Observe"})
	_in_force([_rate_kind("rates", 1, {"mode": "Observe"})], _preset) == {_type: _normal(described, ["Preset", "PolicyKind"])}
}

# K1
test_a_policykind_that_is_invalid_leaves_the_preset_active if {
	every fields in [{"mode": "Manage"}, {"defaultStrategy": "None"}, {"strategies": {"x": "Foo"}}] {
		_in_force([_rate_kind("rates", 1, fields)], _preset) == {_type: _normal(_preset.rates, ["Preset"])}
		_in_force([_rate_kind("rates", 1, fields)], {}) == {}
	}
}

# K1
test_of_two_policykinds_for_one_kind_the_older_is_active if {
	older := _rate_kind("b", 1, {"conditions": "Enforced"})
	younger := _rate_kind("a", 2, {"mode": "Observe"})
	_in_force([younger, older], {}) == {_type: _normal(older.spec, ["PolicyKind"])}
}

# K1
test_the_younger_of_two_policykinds_is_reported if {
	older := _rate_kind("b", 1, {})
	undated := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "PolicyKind", "", "a"), _least)
	objects := {"changes": {"upsert": [undated, older]}}
	verdict := kinds.verdict("policybridge.io/PolicyKind/-/a") with input as objects
	winner := kinds.verdict("policybridge.io/PolicyKind/-/b") with input as objects
	verdict == {
		"status": "False",
		"reason": "Conflicted",
		"message": "acme.io/RatePolicy is described by the older PolicyKind b",
	}
	winner == {"status": "True", "reason": "Accepted", "message": "PolicyKind is active"}
}

test_a_policykind_that_is_invalid_is_reported_with_the_reason if {
	every row in [
		[{"strategies": {"x": "Pach"}}, `strategies.x: "Pach" is not a strategy; did you mean "Patch"?`],
		[{"mode": "Manage"}, "controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name"],
		[{"class": "Direct", "effectiveTarget": "Target", "strategies": {"merge": "Patch"}}, "class Direct allows only the strategies None and Additive"],
	] {
		[fields, message] := row
		verdict := kinds.verdict("policybridge.io/PolicyKind/-/rates") with input as {"changes": {"upsert": [_rate_kind("rates", 1, fields)]}}
		verdict == {"status": "False", "reason": "Invalid", "message": message}
	}
}

test_a_policys_kind_is_what_is_stored_unless_a_policykind_changes if {
	stored := {_type: {"kind": "RatePolicy", "class": "Direct"}}
	query_input := "acme.io/RatePolicy/shop/slow"
	before := kinds.of_policy(query_input) with data.kinds as stored
	names := kinds.names with data.kinds as stored
	after := kinds.of_policy(query_input) with data.kinds as stored
		with input as {"changes": {"upsert": [_rate_kind("rates", 1, {})]}}
	before == stored[_type]
	names == {_type}
	object.remove(after, ["by", "preset", "traits"]) == _normal(_least, ["PolicyKind"])
}

test_a_kind_that_is_none_is_undefined if {
	not kinds.get("core/Service")
}
