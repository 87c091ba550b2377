package bridge.kinds_test

import data.bridge.kinds

_form(spec_fields) := found if {
	found := kinds.schema_form(_type) with input as {"changes": {"upsert": [_crd("Inherited", _schema(spec_fields, {}))]}}
}

_object(fields) := {"type": "object", "properties": fields}

_enum(values) := {"type": "string", "enum": values}

test_a_schema_without_wrappers_or_strategy_has_no_merge_settings if {
	_form({"rate": {"type": "integer"}}) == {}
	_form({"strategy": {"type": "object"}}) == {}
	_form({"default": {"type": "integer"}}) == {}
}

# GEP-713, "Abstract process for calculating effective policies", its wrappers
test_defaults_and_overrides_are_wrappers_of_which_a_policy_has_one if {
	_form({"defaults": _object({}), "overrides": _object({"strategy": _enum(["atomic", "merge"])})}) == {
		"specPaths": [
			{"path": "/spec/overrides", "strategy": "AtomicOverrides", "strategyPath": "/spec/overrides/strategy"},
			{"path": "/spec/defaults", "strategy": "AtomicDefaults"},
			{"path": "/spec"},
		],
		"strategies": {"atomic": "Atomic", "merge": "Patch"},
	}
}

# F6
test_the_historic_override_and_default_merge_by_field if {
	_form({"default": _object({}), "override": _object({})}) == {"specPaths": [
		{"path": "/spec/override", "strategy": "PatchOverrides"},
		{"path": "/spec/default", "strategy": "PatchDefaults"},
		{"path": "/spec"},
	]}
}

# F7
test_a_strategy_beside_the_spec_is_the_policys_choice if {
	_form({"strategy": _enum(["atomic", "PatchDefaults", "odd"])}) == {
		"specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}],
		"strategies": {"atomic": "Atomic"},
	}
	_form({"strategy": {"type": "string"}}).strategies == {"atomic": "Atomic", "merge": "Patch", "patch": "Patch"}
}

# F4
test_merge_type_is_the_challengers_choice_for_the_closest_above if {
	_form({"mergeType": {"type": "string"}}) == {
		"specPaths": [{"path": "/spec", "strategyPath": "/spec/mergeType"}],
		"strategies": {"JSONMerge": "PatchDefaults", "StrategicMerge": "PatchDefaults", "Replace": "AtomicDefaults"},
		"parentLevels": ["Gateway", "ListenerSet", "Listener"],
		"defaultStrategy": "AtomicDefaults",
		"sameLevel": "Conflict",
	}
}
