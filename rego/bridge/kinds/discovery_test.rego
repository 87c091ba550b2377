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

# K1, K2
test_a_crd_without_the_label_makes_no_policy_kind_of_an_invalid_policykind if {
	not _found([_crd("", _plain), _rate_kind("rates", 1, {"strategies": {"x": "Pach"}})])
	_found([_crd("Inherited", _plain), _rate_kind("rates", 1, {"strategies": {"x": "Pach"}})]).layers == ["CustomResourceDefinition"]
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
test_an_invalid_policykind_leaves_the_description_of_the_crd if {
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
	message := "label gateway.networking.k8s.io/policy: yes is not one of Direct, Inherited, true"
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

_guesses(schema, label) := {guess.field: guess.value | some guess in found} if {
	changes := {"upsert": [_crd(label, schema)]}
	found := kinds.guessed("acme.io/RatePolicy") with input as {"guessedType": "acme.io/RatePolicy", "changes": changes}
	every guess in found {
		guess.why != ""
	}
}

test_a_plain_schema_is_guessed_to_be_direct if {
	found := _guesses(_plain, "")
	[found.class, found.sameLevel, found.crossNamespace, found.statusShape] == ["Direct", "Conflict", "Forbidden", "Conditions"]
	not found.effectiveTarget
	found.targets == null
}

_with_rule(rule) := _guesses(_schema({"targetRefs": object.union(_list_of_refs({"sectionName": {}}), {"x-kubernetes-validations": [{"rule": rule}]})}, {}), "").targets

# K6
test_targets_are_read_from_validation_rules if {
	_with_rule("self.all(r, (r.group == '' && r.kind == 'Service') || (r.kind == 'Backend' && r.group == 'acme.io'))") == [
		{"group": "acme.io", "kind": "Backend", "sections": true},
		{"group": "core", "kind": "Service", "sections": true},
	]
	_with_rule("self.all(r, r.kind in ['Gateway', 'HTTPRoute'] && r.group == 'gateway.networking.k8s.io')") == [
		{"group": "gateway.networking.k8s.io", "kind": "Gateway", "sections": true},
		{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "sections": true},
	]
	_with_rule("self.all(r, r.kind == 'Gateway')") == [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "sections": true}]
	_with_rule("self.all(r, r.kind == 'Gateway' || r.kind == 'Mystery')") == null
	_with_rule("size(self) > 0") == null
}

test_wrappers_are_guessed_to_be_of_an_inherited_kind if {
	wrapped := _schema({"targetRef": {"type": "object", "properties": _ref_fields}, "defaults": {"type": "object"}}, {"ancestors": {"type": "array"}})
	found := _guesses(wrapped, "")
	[found.class, found.effectiveTarget, found.statusShape] == ["Inherited", "Rule", "Ancestors"]
	{place.path | some place in found.specPaths} == {"/spec/defaults", "/spec"}
}

test_a_label_says_the_class if {
	_guesses(_plain, "Inherited").class == "Inherited"
}

test_guessed_kinds_are_active if {
	every label in ["", "direct", "inherited"] {
		spec := object.union({"group": "acme.io", "kind": "RatePolicy"}, _guesses(_plain, label))
		not kinds.problem(spec)
	}
	testing.world
}

_undescribed_of(objects) := found if {
	found := kinds.undescribed with input as {"changes": {"upsert": objects}}
}

_rate_type := "acme.io/RatePolicy"

_rate(spec) := testing.with_spec(testing.resource("acme.io/v1", "RatePolicy", "shop", "limits"), spec)

_to_gateway := {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}

# K6
test_a_crd_with_target_refs_in_its_schema_is_reported if {
	every field, shape in {
		"targetRef": {"type": "object", "properties": _ref_fields},
		"targetRefs": _list_of_refs({}),
		"targetSelectors": _list_of_refs({}),
	} {
		found := _undescribed_of([_crd("", _schema({field: shape}, {}))])
		found[_rate_type].crd == _crd_key
	}
}

# K6
test_a_crd_that_scales_something_is_not_reported if {
	scaled := {"targetRef": {"type": "object", "properties": object.union(_ref_fields, {"apiVersion": {"type": "string"}})}}
	_undescribed_of([_crd("", _schema(scaled, {}))]) == {}
}

# K6
test_a_described_kind_is_not_reported if {
	_undescribed_of([_crd("", _plain), _rate_kind("rates", 1, {})]) == {}
	_undescribed_of([_rate({"targetRef": _to_gateway}), _rate_kind("rates", 1, {})]) == {}
}

# K6
test_an_object_with_target_refs_is_reported_without_its_crd if {
	every spec in [{"targetRef": _to_gateway}, {"targetRefs": [_to_gateway]}, {"targetSelectors": [{"kind": "Gateway"}]}] {
		found := _undescribed_of([_rate(spec)])
		not found[_rate_type].crd
		startswith(found[_rate_type].message, "it has no PolicyKind")
	}
	_undescribed_of([_rate({"rate": 5})]) == {}
	_undescribed_of([_rate({"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}})]) == {}
}

# K6
test_stored_objects_are_reported if {
	key := "acme.io/RatePolicy/shop/limits"
	objects := {"acme.io": {"RatePolicy": {"shop": {"limits": _rate({"targetRef": _to_gateway})}}}}
	index := {"attached": {_rate_type: {"gateway.networking.k8s.io/Gateway/shop/public": {key: true}}}}
	found := kinds.undescribed with data.objects as objects with data.index as index with data.kinds as {}
	object.keys(found) == {_rate_type}
}

# K6
test_a_stored_crd_is_reported_as_one_in_a_change if {
	crd := _crd("", _schema({"targetRef": {"type": "object", "properties": _ref_fields}}, {}))
	objects := {"apiextensions.k8s.io": {"CustomResourceDefinition": {"-": {"ratepolicies.acme.io": crd}}}}
	found := kinds.undescribed with data.objects as objects with data.kinds as {}
	found[_rate_type].crd == _crd_key
}

# K6
test_stored_objects_with_selectors_alone_are_reported if {
	key := "acme.io/RatePolicy/shop/limits"
	objects := {"acme.io": {"RatePolicy": {"shop": {"limits": _rate({"targetSelectors": [{"kind": "Gateway"}]})}}}}
	index := {"selectors": {"shop": {"/Gateway": {"{}": {key: true}}}}}
	found := kinds.undescribed with data.objects as objects with data.index as index with data.kinds as {}
	object.keys(found) == {_rate_type}
}

# K6
test_the_near_match_is_part_of_the_message if {
	typo := object.union(_rate({"targetRef": _to_gateway}), {"kind": "RatePolcy"})
	found := _undescribed_of([typo, _rate_kind("rates", 1, {})])
	found["acme.io/RatePolcy"].near == _rate_type
	endswith(found["acme.io/RatePolcy"].message, "did you mean acme.io/RatePolicy?")
}

# K6
test_the_status_of_an_inactive_policy_kind_has_the_reason if {
	refused := _rate_kind("rates", 1, {"class": "Sideways"})
	_undescribed_of([_crd("", _plain), _rate({"targetRef": _to_gateway}), refused]) == {}
}

_shape(spec_fields) := found if {
	found := kinds._schema_shape(_type) with input as {"changes": {"upsert": [_crd("Direct", _schema(spec_fields, {}))]}}
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

test_target_kinds_with_an_unclear_group_are_not_guessed if {
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
	open := {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	not "targetSections" in object.keys(_shape({"targetRef": open}))
	not "targetSections" in object.keys(_shape({"targetRef": object.union(open, {"properties": _ref_fields})}))
}

test_a_ref_with_a_namespace_needs_a_grant if {
	_shape({"targetRefs": _list_of_refs({"namespace": {"type": "string"}})}).crossNamespace == "ReferenceGrant"
	not _shape({"targetRefs": _list_of_refs({})}).crossNamespace
}

# S3
test_the_status_shape_is_that_of_the_schema if {
	every row in [
		[{"ancestors": {}, "conditions": {}}, "Ancestors"],
		[{"conditions": {}}, "Conditions"],
		[{}, ""],
	] {
		found := kinds._schema_shape(_type) with input as {"changes": {"upsert": [_crd("Direct", _schema({}, row[0]))]}}
		object.get(found, "statusShape", "") == row[1]
	}
}

# T2
test_refs_of_a_kind_without_sections_in_its_schema_name_none if {
	gateway := "gateway.networking.k8s.io/Gateway"
	stored := {_type: {"kind": "RatePolicy", "targetSections": false}}
	not kinds.may_target_sections(_type, gateway) with data.kinds as stored
	kinds.may_target_sections(_type, gateway) with data.kinds as {_type: {"kind": "RatePolicy"}}
	kinds.may_target(_type, gateway) with data.kinds as stored
}

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
test_a_policy_has_one_of_the_wrappers_defaults_and_overrides if {
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

_reasons(schema, label) := {guess.field: guess.why | some guess in found} if {
	changes := {"upsert": [_crd(label, schema)]}
	found := kinds.guessed("acme.io/RatePolicy") with input as {"guessedType": "acme.io/RatePolicy", "changes": changes}
}

test_each_guess_has_its_reason if {
	_reasons(_plain, "") == {
		"class": concat("", [
			"the schema has no wrappers, no choice of strategy, and does not list several target kinds; ",
			"if a policy also acts below its target, set class: Inherited and effectiveTarget: Rule",
		]),
		"targets": "neither the schema nor its validation rules list kinds, so a ref may name any: add those that the controller accepts",
		"crossNamespace": "a target ref has no field namespace",
		"sameLevel": "no field of the schema merges policies: only the older of two for one target is accepted",
		"statusShape": "the schema has neither status.ancestors nor status.conditions",
	}
	merging := {"targetRefs": _list_of_refs({"kind": {"enum": ["Gateway"]}, "namespace": {}}), "strategy": {"type": "string"}}
	wrappers := "the schema has wrappers, or a field by which a policy chooses its strategy"
	_reasons(_schema(merging, {"conditions": {"type": "array"}}), "") == {
		"class": "the schema has wrappers, a choice of strategy, or several target kinds",
		"targets": "the kinds that the schema lists for a target ref",
		"effectiveTarget": "a schema has no level: Backend if a listed kind is not Gateway API's, otherwise Rule",
		"crossNamespace": "a target ref has the field namespace, so another namespace must grant it",
		"specPaths": wrappers,
		"strategies": wrappers,
		"statusShape": "the fields of status in the schema",
	}
	_reasons(_plain, "Direct").class == "the label of the CRD; if a policy also acts below its target, set class: Inherited and effectiveTarget: Rule"
	_reasons(_plain, "Inherited").class == "the label of the CRD"
}

# K1
test_the_values_of_envoy_gateways_merge_type_have_their_strategies if {
	_form({"mergeType": _enum(["JSONMerge", "StrategicMerge", "Replace", "Other"])}).strategies == {
		"JSONMerge": "PatchDefaults",
		"StrategicMerge": "PatchDefaults",
		"Replace": "AtomicDefaults",
	}
	_form({"mergeType": {"type": "string"}}).strategies == {
		"JSONMerge": "PatchDefaults",
		"StrategicMerge": "PatchDefaults",
		"Replace": "AtomicDefaults",
	}
}

# T2
test_fields_of_the_schema_beside_a_wrapper_are_known if {
	wrapper := {"type": "object", "properties": {"strategy": {"type": "string", "default": "atomic"}, "limit": {"type": "integer", "default": 5}}}
	schema := _schema(
		{
			"targetRef": {"type": "object", "properties": _ref_fields},
			"color": {"type": "string", "default": "red"},
			"defaults": wrapper,
			"overrides": object.union(wrapper, {"default": {}}),
		},
		{},
	)
	given := _found([_crd("Inherited", schema)]).schemaDefaults
	object.keys(given) == {"/spec/color", "/spec/defaults/strategy", "/spec/overrides", "/spec/overrides/strategy"}
	given["/spec/color"] == {["/spec/color", "red"]}
	given["/spec/overrides"] == {["/spec/overrides", {}], ["/spec/overrides/limit", 5], ["/spec/overrides/strategy", "atomic"]}
}

# K6
test_policy_that_no_kind_describes_has_a_message_with_the_next_step if {
	kinds.undescribed_message("acme.io/Rate") == concat("", [
		"acme.io/Rate has no PolicyKind, so this policy is ignored: ",
		"generate a draft with `pbctl init policykind`",
	]) with data.kinds as {}
	kinds.undescribed_message("acme.io/RatePolcy") == concat("", [
		"acme.io/RatePolcy has no PolicyKind, so this policy is ignored: ",
		"did you mean acme.io/RatePolicy?",
	]) with data.kinds as {"acme.io/RatePolicy": {}}
}
