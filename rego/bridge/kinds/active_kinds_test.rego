package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing
import data.bridge.v1

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
test_a_policykind_of_another_class_replaces_the_preset_fields_about_merging if {
	merging := {"class": "Inherited", "defaultStrategy": "PatchDefaults", "specPaths": [{"path": "/spec/default"}], "sameLevel": "Conflict"}
	preset := {"rates": object.union(_preset.rates, merging)}
	direct := {"class": "Direct", "effectiveTarget": "Target"}
	described := object.union(object.remove(_preset.rates, ["effectiveTarget"]), direct)
	_in_force([_rate_kind("rates", 1, direct)], preset) == {_type: _normal(described, ["Preset", "PolicyKind"])}
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
		"message": "The older PolicyKind/b already describes acme.io/RatePolicy",
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

test_a_policys_kind_is_the_stored_one_unless_a_policykind_changes if {
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

# The stored sets answer as if every kind was read, and a query that changes a kind does not read them.
test_stored_sets_count_until_a_query_changes_a_kind if {
	stored := {"managed": {"acme.io/StoredPolicy": true}}
	kinds.sets == stored with data.kind_sets as stored
	kinds.sets.managed == {_type: true} with data.kind_sets as stored with input as {"changes": {"upsert": [_managed_kind]}}
}

test_the_stored_documents_are_the_kinds_and_their_sets if {
	found := v1.kind_documents with input as {"changes": {"upsert": [_managed_kind]}} with data.bridge_settings.presets as {}
	found.kinds[_type].mode == "Manage"
	found.kind_sets == {"managed": {_type: true}, "presets": {}, "selecting": {}, "virtual": {}, "binding": {}, "placed": {}, "placing": {}, "served": {_type: true}}
}

_managed_kind := _rate_kind("rates", 1, {"mode": "Manage", "controllerName": "acme.io/controller"})

_stamp(fields) := found if {
	found := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, fields)]}}
}

test_stamp_differs_where_the_description_differs if {
	_stamp({}) != _stamp({"conditions": "Enforced"})
	_stamp({}) == _stamp({})
}

test_stamp_differs_where_an_extension_adds_levels if {
	with_levels := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, {})]}}
		with data.bridge.extensions.hierarchy as {"mesh": {"levels": {"acme.io/Mesh": {"object": "Gateway"}}}}
	with_levels != _stamp({})
}

test_stamp_differs_where_the_bounds_differ if {
	with_bounds := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, {})]}} with data.bridge_settings.bounds as {"leaves": 3}
	with_bounds != _stamp({})
}

_rates(fields) := _schema(object.union({"targetRef": {"type": "object", "properties": _ref_fields}}, fields), {})

_old(schema) := _version("v1beta1", schema)

_versions_of(old_fields, fields) := found if {
	found := _found([_crd_with("Direct", [_old(_rates(old_fields)), _version("v1", _rates(fields))])]).versions
}

_rate_field := {"rate": {"type": "integer"}}

# K7
test_a_version_with_no_other_fields_is_read_like_the_preferred_one if {
	described := {"rate": {"type": "integer", "description": "requests a second"}}
	every row in [
		[_rate_field, _rate_field, "Like"],
		[{}, _rate_field, "Like"],
		[described, _rate_field, "Like"],
		[object.union(_rate_field, {"burst": {"type": "integer"}}), _rate_field, "Unlike"],
		[{"rate": {"type": "string"}}, _rate_field, "Unlike"],
		[{"type": {"type": "string"}}, _rate_field, "Unlike"],
		[{"unit": {"type": "string", "enum": ["s"]}}, {"unit": {"type": "string", "enum": ["s", "min"]}}, "Like"],
		[{"unit": {"type": "string", "enum": ["s", "sec"]}}, {"unit": {"type": "string", "enum": ["s"]}}, "Unlike"],
		[{"unit": {"type": "string", "enum": ["s", "sec"]}}, {"unit": {"type": "string"}}, "Like"],
	] {
		_versions_of(row[0], row[1]) == {"v1": "Read", "v1beta1": row[2]}
	}
}

# K7
test_a_version_that_is_not_served_is_none if {
	unserved := object.union(_old(_plain), {"served": false})
	_found([_crd_with("Direct", [unserved, _version("v1", _plain)])]).versions == {"v1": "Read"}
	not _found([_rate_kind("rates", 1, {})]).versions
}

# K7
test_the_version_of_the_setting_is_read if {
	crd := _crd_with("Direct", [_old(_rates({"burst": {"type": "integer"}})), _version("v1", _rates(_rate_field))])
	chosen := kinds.active_kinds[_type].versions with input as {"changes": {"upsert": [crd]}}
		with data.bridge_settings.versions as {_type: "v1beta1"}
	chosen == {"v1": "Unlike", "v1beta1": "Read"}
	gone := kinds.active_kinds[_type].versions with input as {"changes": {"upsert": [crd]}}
		with data.bridge_settings.versions as {_type: "v1alpha1"}
	gone == {"v1": "Read", "v1beta1": "Unlike"}
}

# K7
test_a_policy_in_a_version_that_is_not_read_as_written_is_a_problem if {
	crd := _crd_with("Direct", [_old(_rates({"burst": {"type": "integer"}})), _version("v1", _rates(_rate_field))])
	found := {version: problem |
		some version in ["v1", "v1beta1", "v2"]
		problem := kinds.version_problem(_type, concat("/", ["acme.io", version])) with input as {"changes": {"upsert": [crd]}}
	}
	{version: [problem.reason, problem.message] | some version, problem in found} == {
		"v1beta1": ["VersionDiffers", `apiVersion "acme.io/v1beta1" has other fields than v1, which the bridge reads. Write the policy in that version`],
		"v2": ["VersionNotServed", `apiVersion "acme.io/v2" is not served: the CRD serves v1, v1beta1`],
	}
}
