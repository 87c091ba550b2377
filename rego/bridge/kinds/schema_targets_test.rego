package bridge.kinds_test

import data.bridge.kinds

_shape(spec_fields) := found if {
	found := kinds.schema_shape(_type) with input as {"changes": {"upsert": [_crd("Direct", _schema(spec_fields, {}))]}}
}

test_target_kinds_are_those_that_the_schema_lists if {
	every row in [
		[{"kind": {"enum": ["Gateway", "HTTPRoute"]}}, [["gateway.networking.k8s.io", "Gateway"], ["gateway.networking.k8s.io", "HTTPRoute"]]],
		[{"kind": {"enum": ["Service"]}}, [["core", "Service"]]],
		[{"kind": {"enum": ["Widget"]}, "group": {"enum": ["acme.io"]}}, [["acme.io", "Widget"]]],
	] {
		[[target.group, target.kind] | some target in _shape({"targetRefs": _list_of_refs(row[0])}).targets] == row[1]
	}
}

test_target_kinds_whose_group_is_not_clear_are_not_guessed if {
	not _shape({"targetRefs": _list_of_refs({"kind": {"enum": ["Gateway", "Widget"]}})}).targets
	not _shape({"targetRefs": _list_of_refs({})}).targets
}

test_a_schema_shows_whether_refs_have_sections if {
	enum := {"kind": {"enum": ["Gateway"]}}
	section := {"sectionName": {"type": "string"}}
	_shape({"targetRefs": _list_of_refs(enum)}).targets[0].sections == false
	_shape({"targetRefs": _list_of_refs(object.union(enum, section))}).targets[0].sections == true
	_shape({"targetRefs": _list_of_refs({})}).targetSections == false
	not "targetSections" in object.keys(_shape({"targetRef": {"type": "object", "properties": object.union(_ref_fields, section)}}))
	not "targetSections" in object.keys(_shape({"targetRef": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}))
}

test_a_ref_with_a_namespace_needs_a_grant if {
	_shape({"targetRefs": _list_of_refs({"namespace": {"type": "string"}})}).crossNamespace == "ReferenceGrant"
	not _shape({"targetRefs": _list_of_refs({})}).crossNamespace
}

# S3
test_the_status_shape_is_what_the_schema_has if {
	every row in [
		[{"ancestors": {}, "conditions": {}}, "Ancestors"],
		[{"conditions": {}}, "Conditions"],
		[{}, ""],
	] {
		found := kinds.schema_shape(_type) with input as {"changes": {"upsert": [_crd("Direct", _schema({}, row[0]))]}}
		object.get(found, "statusShape", "") == row[1]
	}
}

# T2
test_refs_of_a_kind_whose_schema_has_no_sections_name_none if {
	gateway := "gateway.networking.k8s.io/Gateway"
	stored := {_type: {"kind": "RatePolicy", "targetSections": false}}
	not kinds.may_target_sections(_type, gateway) with data.kinds as stored
	kinds.may_target_sections(_type, gateway) with data.kinds as {_type: {"kind": "RatePolicy"}}
	kinds.may_target(_type, gateway) with data.kinds as stored
}
