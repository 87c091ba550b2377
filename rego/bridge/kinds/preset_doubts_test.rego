package bridge.kinds_test

import data.bridge.kinds

_reading := {"rates": {
	"group": "acme.io",
	"kind": "RatePolicy",
	"class": "Inherited",
	"effectiveTarget": "Rule",
	"specPaths": [{"path": "/spec/options", "strategyPath": "/spec/options/mode"}],
}}

_preset_doubts(fields, objects) := object.get(found, _crd_key, []) if {
	found := kinds.preset_doubts with data.bridge_settings.presets as _reading
		with input as {"changes": {"upsert": array.concat([_crd("", _schema(fields, {}))], objects)}}
}

_missing(path) := sprintf("the preset reads %s, and the schema has no such field: the preset is for another release", [path])

# K1
test_a_field_that_a_preset_reads_and_the_schema_lacks_is_in_doubt if {
	other := {"targetRef": {"type": "object", "properties": _ref_fields}, "settings": {"type": "object"}}
	_preset_doubts(other, []) == [_missing("/spec/options"), _missing("/spec/options/mode")]
	some_of_it := {"options": {"type": "object", "properties": {"rate": {"type": "integer"}}}}
	_preset_doubts(some_of_it, []) == [_missing("/spec/options/mode")]
}

# K1
test_a_schema_with_the_fields_or_with_any_fields_is_not_in_doubt if {
	every options in [
		{"type": "object", "properties": {"mode": {"type": "string"}, "more": {"type": "string"}}},
		{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	] {
		_preset_doubts({"options": options}, []) == []
	}
	_preset_doubts({}, []) == []
}

# K1
test_a_policykind_that_sets_what_is_read_removes_the_doubt_about_the_preset if {
	_preset_doubts({"settings": {"type": "object"}}, [_rate_kind("rates", 1, {"specPaths": [{"path": "/spec/settings"}]})]) == []
}

# K1
test_a_preset_in_doubt_is_active if {
	found := kinds.active_kinds[_type] with data.bridge_settings.presets as _reading
		with input as {"changes": {"upsert": [_crd("", _schema({"settings": {"type": "object"}}, {}))]}}
	found.layers == ["Preset", "CustomResourceDefinition"]
	found.specPaths == _reading.rates.specPaths
}
