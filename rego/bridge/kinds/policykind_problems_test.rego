package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

test_the_descriptions_of_the_fixtures_make_sense if {
	kinds.problems(testing.color_kind) == []
	kinds.problems(testing.timeout_kind) == []
	not kinds.problem(testing.color_kind)
}

_with(fields) := kinds.problems(object.union(_least, fields))

_direct := {"class": "Direct", "effectiveTarget": "Target"}

_inherited_none_message := "strategy None needs class Direct: an Inherited kind merges along the hierarchy"

# C3
test_an_inherited_kind_has_no_strategy_none if {
	every fields in [
		{"defaultStrategy": "None"},
		{"specPaths": [{"path": "/spec", "strategy": "None"}]},
		{"strategies": {"off": "None"}},
	] {
		_with(fields) == [_inherited_none_message]
	}
}

# C2
test_a_direct_kind_has_no_strategy_but_none if {
	every fields in [
		{"defaultStrategy": "PatchDefaults"},
		{"strategies": {"merge": "Patch"}},
		{"specPaths": [{"path": "/spec", "strategy": "AtomicOverrides"}]},
	] {
		_with(object.union(fields, _direct)) == ["class Direct allows only the strategies None and Additive"]
	}
	_with(object.union(_direct, {"defaultStrategy": "None"})) == []
}

test_an_inherited_kind_needs_its_effective_target if {
	kinds.problem({"kind": "RatePolicy"}) == "effectiveTarget is missing: an Inherited kind needs the level at which it acts"
}

test_mode_manage_needs_a_controller_name if {
	message := "controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name"
	every name in ["", "acme.io", "/x", "acme.io/", "acme io/x", "Acme.io/x", "acme.io/x y"] {
		_with({"mode": "Manage", "controllerName": name}) == [message]
	}
	_with({"mode": "Manage"}) == [message]
	_with({"mode": "Manage", "controllerName": "acme.io/rates"}) == []
}

# C2
test_policies_of_a_direct_kind_for_one_target_are_in_conflict if {
	kinds.problems({"group": "acme.io", "kind": "RatePolicy", "class": "Direct", "sameLevel": "OlderEstablished"}) == [concat("", [
		"class Direct allows only sameLevel Conflict, ConflictOfAll, NoneOfSeveral and ConflictOnOverlap: ",
		"only the older of two policies for one target is accepted",
	])]
}

# F9
test_the_strategy_custom_needs_the_name_of_its_package if {
	every fields in [{"defaultStrategy": "Custom"}, {"strategies": {"own": "Custom"}}, {"specPaths": [{"path": "/spec", "strategy": "Custom"}]}] {
		_with(fields) == ["strategy Custom needs custom: the name of its package in bridge.strategies"]
		_with(object.union(fields, {"custom": "rates"})) == []
	}
	_with(object.union(_direct, {"custom": "rates"})) == ["class Direct allows only the strategies None and Additive"]
}

# F10
test_delegation_is_about_levels if {
	delegation := {"delegation": {"path": "/metadata/annotations/a", "strategies": {"Parent": "PatchOverrides"}}}
	message := "delegation needs class Inherited, and sameLevel OldestWins: it is about levels of routes, and not about their policies"
	_with(delegation) == [message]
	_with(object.union(delegation, _direct)) == [message]
	_with(object.union(delegation, {"sameLevel": "OldestWins"})) == []
}

# F4
test_parent_levels_merge_two_policies_of_an_inherited_kind if {
	levels := {"parentLevels": ["Gateway"]}
	_with(levels) == []
	_with(object.union(levels, _direct)) == ["class Direct merges nothing: parentLevels needs class Inherited"]
	_with(object.union(levels, {"sameLevel": "OldestWins"})) == ["parentLevels merges two policies: sameLevel OldestWins does not apply"]
}

# F7, F9
test_merge_rules_are_of_the_kind_or_chosen_by_the_most_specific_policy if {
	fields := {"strategies": {"own": {"strategy": "Patch", "merge": {"units": ["/a"]}}}}
	_with(object.union(fields, {"parentLevels": ["Gateway"]})) == []
	_with(fields) == [concat("", [
		"strategies: merge rules for one strategy need parentLevels, ",
		"where the most specific policy chooses them for both policies: set merge for the kind",
	])]
	_with({"custom": "rates", "merge": {"units": ["/a"]}}) == ["custom merges by its own Rego: merge has no effect on it"]
}

test_a_direct_kind_acts_at_its_target if {
	_with({"class": "Direct"}) == [`effectiveTarget: "Route" needs class Inherited: a Direct policy acts at its target`]
}

test_a_direct_kind_has_merge_rules_only_where_specs_are_united if {
	fields := object.union(_direct, {"merge": {"units": ["/a"]}})
	_with(fields) == ["merge needs class Inherited: a Direct policy merges with no other"]
	_with(object.union(fields, {"sameLevel": "ConflictOnOverlap"})) == []
}

_gateway_api_target(kind) := {"group": "gateway.networking.k8s.io", "kind": kind}

test_policies_cannot_act_above_all_their_targets if {
	_with({"effectiveTarget": "Gateway", "targets": [_gateway_api_target("HTTPRoute")]}) == [concat("", [
		`effectiveTarget: "Gateway" is above every kind of targets: `,
		"a policy on an HTTPRoute (targets[0]) reaches no Gateway",
	])]
	count(_with({"effectiveTarget": "Listener", "targets": [{"kind": "Service"}]})) == 1
	every fields in [
		{"effectiveTarget": "Gateway", "targets": [_gateway_api_target("HTTPRoute"), _gateway_api_target("Gateway")]},
		{"effectiveTarget": "Listener", "targets": [_gateway_api_target("ListenerSet")]},
		{"effectiveTarget": "Gateway", "targets": [{"kind": "Namespace"}]},
		{"effectiveTarget": "Rule", "targets": [{"kind": "Service"}]},
		{"effectiveTarget": "Gateway", "targets": [{"group": "acme.io", "kind": "Region"}]},
	] {
		_with(fields) == []
	}
}

test_a_target_of_the_core_group_is_one_of_its_kinds if {
	_with({"targets": [{"kind": "Service"}, {"kind": "ListenerSet"}]}) == [concat("", [
		`targets[1]: the core group has no kind "ListenerSet"; `,
		"did you mean gateway.networking.k8s.io/ListenerSet?",
	])]
	_with({"targets": [{"kind": "Sevice"}]}) == [`targets[0]: the core group has no kind "Sevice"; did you mean "Service"?`]
	_with({"targets": [{"kind": "Thing"}]}) == [`targets[0]: the core group has no kind "Thing"`]
	_with({"targets": [{"kind": "Nope", "virtual": true}]}) == []
}

test_a_pointer_names_a_field if {
	_with({"specPaths": [{"path": "/"}]}) == [`specPaths[0].path: "/" names a field without a name; did you mean "/spec"?`]
	_with({"specPaths": [{"path": "/spec", "strategyPath": "/spec//how"}]}) == [`specPaths[0].strategyPath: "/spec//how" names a field without a name`]
}

_doubts(objects, targets) := messages if {
	kind := _rate_kind("rates", 1, {"effectiveTarget": "Backend", "targets": targets})
	messages := object.get(kinds.doubts, "policybridge.io/PolicyKind/-/rates", []) with input as {"changes": {"upsert": array.concat(objects, [kind])}}
}

_crd_of(group, kind) := {
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": sprintf("%s.%s", [lower(kind), group])},
	"spec": {"group": group, "names": {"kind": kind}, "versions": []},
}

test_a_misspelled_target_kind_is_in_doubt if {
	_doubts([], [_gateway_api_target("HTTPRouts")]) == [concat("", [
		`targets[0]: no CRD defines "gateway.networking.k8s.io/HTTPRouts"; `,
		`did you mean "gateway.networking.k8s.io/HTTPRoute"?`,
	])]
	_doubts([], [{"group": "gateway.network.k8s.io", "kind": "HTTPRoute"}]) == [concat("", [
		`targets[0]: no CRD defines "gateway.network.k8s.io/HTTPRoute"; `,
		`did you mean "gateway.networking.k8s.io/HTTPRoute"?`,
	])]
}

test_a_group_without_crds_is_in_doubt_where_crds_are_known if {
	targets := [{"kind": "Service"}, {"group": "acme.io", "kind": "Bucket"}, {"group": "apps", "kind": "Deployment"}]
	_doubts([], targets) == []
	_doubts([_crd_of("gateway.networking.k8s.io", "Gateway")], targets) == [`targets[1]: no CRD defines "acme.io/Bucket"`]
	_doubts([_crd_of("acme.io", "Pail")], targets) == [`targets[1]: no CRD defines "acme.io/Bucket"`]
	_doubts([_crd_of("acme.io", "Bucket"), _crd_of("gateway.networking.k8s.io", "Gateway")], targets) == []
}

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
test_a_policykind_that_sets_the_read_fields_removes_the_doubt_about_the_preset if {
	_preset_doubts({"settings": {"type": "object"}}, [_rate_kind("rates", 1, {"specPaths": [{"path": "/spec/settings"}]})]) == []
}

# K1
test_a_preset_in_doubt_is_active if {
	found := kinds.active_kinds[_type] with data.bridge_settings.presets as _reading
		with input as {"changes": {"upsert": [_crd("", _schema({"settings": {"type": "object"}}, {}))]}}
	found.layers == ["Preset", "CustomResourceDefinition"]
	found.specPaths == _reading.rates.specPaths
}

# C4
test_an_additive_kind_merges_nothing_and_alone_has_an_order if {
	merging := concat("", [
		"strategy Additive merges nothing, every policy applies: set it as defaultStrategy, without strategies, ",
		"strategyPath, sameLevel, parentLevels, custom and merge",
	])
	every fields in [
		{"strategies": {"all": "Additive"}},
		{"defaultStrategy": "Additive", "specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]},
		{"defaultStrategy": "Additive", "merge": {"units": ["/a"]}},
		{"defaultStrategy": "Additive", "sameLevel": "Conflict"},
		{"defaultStrategy": "Additive", "parentLevels": ["Gateway"]},
		{"defaultStrategy": "Additive", "strategies": {"merge": "Patch"}},
	] {
		merging in _with(fields)
	}
	_with({"defaultStrategy": "Additive", "order": [{"path": "/spec/priority"}]}) == []
	_with({"order": [{"path": "/spec/priority"}]}) == ["order needs defaultStrategy Additive: it orders policies that all apply"]
}

# C3
test_a_policy_may_target_every_kind_of_the_core_group if {
	kinds_of_objects := [
		"ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod",
		"PodTemplate", "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
	]
	_with({"targets": [{"kind": kind} | some kind in kinds_of_objects]}) == []
	_with({"targets": [{"kind": "Serviceaccount"}]}) == [`targets[0]: the core group has no kind "Serviceaccount"; did you mean "ServiceAccount"?`]
}
