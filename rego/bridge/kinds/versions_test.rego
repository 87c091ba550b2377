package bridge.kinds_test

import data.bridge.kinds

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
		"v1beta1": ["VersionDiffers", `apiVersion "acme.io/v1beta1" has other fields than v1, which the bridge reads: write the policy in that version`],
		"v2": ["VersionNotServed", `apiVersion "acme.io/v2" is not served: the CRD serves v1, v1beta1`],
	}
}
