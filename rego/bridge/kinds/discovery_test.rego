package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_ref_fields := {"group": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}}

_schema(spec_fields, status_fields) := {"type": "object", "properties": {
	"spec": {"type": "object", "properties": spec_fields},
	"status": {"type": "object", "properties": status_fields},
}}

_plain := _schema({"targetRef": {"type": "object", "properties": _ref_fields}, "rate": {"type": "integer"}}, {})

_version(name, schema) := {"name": name, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}

_crd_with(label, versions) := object.union(
	testing.with_spec(
		testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "ratepolicies.acme.io"),
		{"group": "acme.io", "scope": "Namespaced", "names": {"kind": "RatePolicy"}, "versions": versions},
	),
	{"metadata": {"labels": {name: label | name := "gateway.networking.k8s.io/policy"; label != ""}}},
)

_crd(label, schema) := _crd_with(label, [_version("v1", schema)])

_found(objects) := found if {
	found := kinds.active_kinds[_type] with input as {"changes": {"upsert": objects}}
}

_crd_key := "apiextensions.k8s.io/CustomResourceDefinition/-/ratepolicies.acme.io"

_undiscovered(objects) := found if {
	found := kinds.undescribed_crds with input as {"changes": {"upsert": objects}}
}

_list_of_refs(fields) := {"type": "array", "items": {"type": "object", "properties": object.union(_ref_fields, fields)}}

# K1
test_a_crd_with_the_label_is_a_policy_kind_in_any_letter_case if {
	every row in [["Direct", "Direct"], ["direct", "Direct"], ["INHERITED", "Inherited"], ["Inherited", "Inherited"]] {
		_found([_crd(row[0], _plain)]).class == row[1]
	}
}

# K1
test_the_historic_label_leaves_the_class_to_the_shape if {
	ref := {"targetRef": {"type": "object", "properties": _ref_fields}}
	two := {"kind": {"enum": ["Gateway", "HTTPRoute"]}}
	every row in [
		[_plain, "Direct"],
		[_schema(object.union(ref, {"defaults": {"type": "object"}}), {}), "Inherited"],
		[_schema(object.union(ref, {"override": {"type": "object"}}), {}), "Inherited"],
		[_schema(object.union(ref, {"strategy": {"type": "string"}}), {}), "Inherited"],
		[_schema({"targetRefs": _list_of_refs(two)}, {}), "Inherited"],
		[_schema({"targetRefs": _list_of_refs({"kind": {"enum": ["Gateway"]}})}, {}), "Direct"],
	] {
		_found([_crd("true", row[0])]).class == row[1]
	}
}

# K1
test_a_discovered_kind_is_only_observed_and_says_where_it_comes_from if {
	found := _found([_crd("Direct", _plain)])
	object.filter(found, ["group", "kind", "mode", "class", "effectiveTarget", "layers"]) == {
		"group": "acme.io",
		"kind": "RatePolicy",
		"mode": "Observe",
		"class": "Direct",
		"effectiveTarget": "Target",
		"layers": ["CustomResourceDefinition"],
	}
}

# K1
test_an_inherited_kind_acts_at_rules_unless_its_schema_names_a_backend if {
	services := _schema({"targetRefs": _list_of_refs({"kind": {"enum": ["Gateway", "Service"]}})}, {})
	_found([_crd("Inherited", _plain)]).effectiveTarget == "Rule"
	_found([_crd("Inherited", services)]).effectiveTarget == "Backend"
}

# K1
test_a_crd_without_the_label_makes_no_policy_kind if {
	not _found([_crd("", _plain)])
	_undiscovered([_crd("", _schema({"rate": {"type": "integer"}}, {}))]) == {}
}

# K1
test_a_crd_without_the_label_completes_a_policykind if {
	namespaced := _schema({"targetRefs": _list_of_refs({"namespace": {"type": "string"}})}, {"ancestors": {"type": "array"}})
	found := _found([_crd("", namespaced), _rate_kind("rates", 1, {})])
	object.filter(found, ["crossNamespace", "statusShape", "class", "effectiveTarget", "layers"]) == {
		"crossNamespace": "ReferenceGrant",
		"statusShape": "Ancestors",
		"class": "Inherited",
		"effectiveTarget": "Route",
		"layers": ["CustomResourceDefinition", "PolicyKind"],
	}
}

# K1
test_a_policykind_overrides_the_crd if {
	wrapped := _schema({"targetRef": {"type": "object"}, "defaults": {"type": "object"}}, {"ancestors": {"type": "array"}})
	found := _found([
		_crd("Inherited", wrapped),
		testing.policykind({"group": "acme.io", "kind": "RatePolicy", "class": "Direct", "statusShape": "Conditions"}),
	])
	object.filter(found, ["class", "statusShape", "specPaths", "defaultStrategy"]) == {
		"class": "Direct",
		"statusShape": "Conditions",
		"specPaths": [{"path": "/spec"}],
		"defaultStrategy": "None",
	}
}

# K1
test_the_crd_overrides_the_preset if {
	shaped := _schema({"targetRef": {"type": "object", "properties": _ref_fields}}, {"ancestors": {"type": "array"}})
	preset := {"rates": {"group": "acme.io", "kind": "RatePolicy", "effectiveTarget": "Rule", "statusShape": "Conditions"}}
	found := kinds.active_kinds[_type] with data.bridge_settings.presets as preset
		with input as {"changes": {"upsert": [_crd("Inherited", shaped)]}}
	object.filter(found, ["effectiveTarget", "statusShape", "layers"]) == {
		"effectiveTarget": "Rule",
		"statusShape": "Ancestors",
		"layers": ["Preset", "CustomResourceDefinition"],
	}
}

# K1, kgateway's CRDs have the label Direct, and its policies are inherited.
test_the_label_of_a_crd_changes_no_class_of_a_preset if {
	preset := {"rates": {"group": "acme.io", "kind": "RatePolicy", "class": "Inherited", "effectiveTarget": "Rule"}}
	crd := _crd("Direct", _plain)
	found := kinds.active_kinds[_type] with data.bridge_settings.presets as preset with input as {"changes": {"upsert": [crd]}}
	managed := kinds.active_kinds[_type] with data.bridge_settings.presets as preset
		with input as {"changes": {"upsert": [crd, _rate_kind("rates", 1, {"conditions": "Enforced"})]}}
	object.filter(found, ["class", "layers"]) == {"class": "Inherited", "layers": ["Preset", "CustomResourceDefinition"]}
	object.filter(managed, ["class", "conditions", "layers"]) == {
		"class": "Inherited",
		"conditions": "Enforced",
		"layers": ["Preset", "CustomResourceDefinition", "PolicyKind"],
	}
}

# K1
test_a_policykind_that_is_invalid_leaves_what_the_crd_says if {
	_found([_crd("Direct", _plain), _rate_kind("rates", 1, {"mode": "Foo"})]).layers == ["CustomResourceDefinition"]
}

# K1
test_of_several_served_versions_the_one_that_the_api_server_prefers_is_read if {
	shaped := _schema({}, {"ancestors": {"type": "array"}})
	unserved := object.union(_version("v9", _plain), {"served": false})
	every row in [
		[[_version("v1", _plain), _version("v2", shaped)], "Ancestors"],
		[[_version("v1beta1", _plain), _version("v1", shaped)], "Ancestors"],
		[[_version("v1alpha2", _plain), _version("v1beta1", shaped)], "Ancestors"],
		[[_version("v1alpha2", _plain), _version("v1alpha10", shaped)], "Ancestors"],
		[[_version("preview", _plain), _version("v1alpha1", shaped)], "Ancestors"],
		[[unserved, _version("v1", shaped)], "Ancestors"],
		[[_version("v1", _plain), _version("v1beta1", shaped)], "Conditions"],
	] {
		_found([_crd_with("Direct", row[0])]).statusShape == row[1]
	}
}

# K1
test_a_label_that_is_none_of_those_that_there_are_is_reported_not_guessed if {
	message := "label gateway.networking.k8s.io/policy: yes is none of Direct, Inherited, true"
	not _found([_crd("yes", _plain)])
	_undiscovered([_crd("yes", _plain)]) == {_crd_key: message}
	_undiscovered([_crd("yes", _plain), _rate_kind("rates", 1, {})]) == {}
}

# K1
test_a_crd_that_serves_no_version_makes_no_policy_kind if {
	unserved := object.union(_version("v1", _plain), {"served": false})
	not _found([_crd_with("Direct", [unserved])])
	_undiscovered([_crd_with("Direct", [unserved])]) == {_crd_key: "no version of it is served"}
}

# K1, F5
test_a_discovered_kind_without_a_field_of_merging_leaves_a_target_to_the_oldest if {
	_found([_crd("Inherited", _plain)]).sameLevel == "Conflict"
	_found([_crd("Inherited", _schema({"defaults": {"type": "object"}}, {}))]).sameLevel == "OlderEstablished"
	_found([_crd("Inherited", _schema({"mergeType": {"type": "string"}}, {}))]).sameLevel == "Conflict"
	_found([_crd("Direct", _plain)]).sameLevel == "Conflict"
}

# K1, F5
test_a_policykind_with_merge_settings_applies_them_to_one_target_too if {
	every fields in [
		{"defaultStrategy": "PatchDefaults"},
		{"specPaths": [{"path": "/spec", "strategy": "PatchDefaults"}]},
		{"merge": {"units": ["/a"]}},
		{"defaultStrategy": "Additive"},
	] {
		_found([_crd("Inherited", _plain), _rate_kind("rates", 1, fields)]).sameLevel == "OlderEstablished"
	}
	_found([_crd("Inherited", _plain), _rate_kind("rates", 1, {"effectiveTarget": "Route"})]).sameLevel == "Conflict"
	_found([_crd("Inherited", _plain), _rate_kind("rates", 1, {"sameLevel": "OldestWins"})]).sameLevel == "OldestWins"
}

# K1
test_a_crd_without_a_schema_gives_its_class_alone if {
	every version in [
		{"name": "v1", "served": true},
		_version("v1", {"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
		_version("v1", {"properties": {"spec": {"x-kubernetes-preserve-unknown-fields": true}}}),
	] {
		found := _found([_crd_with("Inherited", [version])])
		object.filter(found, ["class", "effectiveTarget", "crossNamespace", "specPaths", "statusShape", "targetSections"]) == {
			"class": "Inherited",
			"effectiveTarget": "Rule",
			"crossNamespace": "Forbidden",
			"specPaths": [{"path": "/spec"}],
			"statusShape": "Conditions",
		}
	}
}

test_a_crd_that_is_broken_harms_no_other if {
	broken := testing.with_spec(testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "broken"), {"group": 3})
	twin := object.union(_crd("Inherited", _plain), {"metadata": {"name": "twin.acme.io"}})
	odd := testing.with_spec(
		testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "odd.acme.io"),
		{"group": "acme.io", "names": {"kind": "Odd"}, "versions": "none"},
	)
	_found([broken, odd, twin, _crd("Direct", _plain)]).class == "Direct"
}
