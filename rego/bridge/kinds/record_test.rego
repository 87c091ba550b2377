package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_least := {"group": "acme.io", "kind": "RatePolicy", "effectiveTarget": "Route"}

test_an_inherited_kind_gets_every_default if {
	object.remove(kinds.normal_form("acme.io/RatePolicy", _least), ["places"]) == {
		"group": "acme.io",
		"kind": "RatePolicy",
		"class": "Inherited",
		"mode": "Observe",
		"crossNamespace": "Forbidden",
		"effectiveTarget": "Route",
		"specPaths": [{"path": "/spec"}],
		"strategies": {},
		"conditions": "Programmed",
		"ancestorLevel": "Gateway",
		"sameLevel": "OlderEstablished",
		"statusShape": "Conditions",
		"defaultStrategy": "AtomicDefaults",
	}
}

# C2
test_a_direct_kind_acts_at_its_target_without_merging if {
	normal := kinds.normal_form("acme.io/RatePolicy", {"kind": "RatePolicy", "class": "Direct"})
	object.filter(normal, ["class", "sameLevel", "effectiveTarget", "defaultStrategy"]) == {
		"class": "Direct",
		"sameLevel": "Conflict",
		"effectiveTarget": "Target",
		"defaultStrategy": "None",
	}
}

test_the_core_group_of_targets_gets_its_name if {
	targets := [{"kind": "Service"}, {"group": "", "kind": "Service", "sections": true}, {"group": "acme.io/v1", "kind": "X"}]
	kinds.normal_form("acme.io/RatePolicy", object.union(_least, {"targets": targets})).targets == [
		{"group": "core", "kind": "Service", "sections": false},
		{"group": "core", "kind": "Service", "sections": true},
		{"group": "acme.io", "kind": "X", "sections": false},
	]
}

# P5
test_the_target_kinds_of_the_effective_level_are_those_that_count if {
	targets := [
		{"group": "gateway.networking.k8s.io", "kind": "Gateway"},
		{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"},
	]
	frontend := {"group": "", "kind": "Service", "role": "Frontend"}
	every row in [
		[{"targets": array.concat(targets, [frontend]), "effectiveTarget": "Backend"}, null],
		[{"targets": [frontend, {"group": "acme.io", "kind": "Bucket"}], "effectiveTarget": "Backend"}, {"acme.io/Bucket"}],
		[{"targets": targets, "effectiveTarget": "Route"}, {"gateway.networking.k8s.io/HTTPRoute"}],
		[{"targets": targets, "effectiveTarget": "Rule"}, {"gateway.networking.k8s.io/HTTPRoute"}],
		[{"targets": targets, "effectiveTarget": "Listener"}, {"gateway.networking.k8s.io/Gateway"}],
		[{"targets": targets, "effectiveTarget": "Backend"}, null],
		[{}, null],
	] {
		[spec, wanted] := row
		object.get(kinds.normal_form("acme.io/RatePolicy", object.union(_least, spec)), "actsOn", null) == wanted
	}
}

# F7, GEP-713 "Selecting a merge strategy at runtime"
test_the_assumed_strategy_is_the_first_of_gep_713s_order_that_the_kind_supports if {
	every row in [
		[{"strategies": {"merge": "Patch"}}, "PatchDefaults"],
		[{"strategies": {"atomic": "Atomic", "merge": "Patch"}}, "AtomicDefaults"],
		[{"strategies": {"over": "PatchOverrides", "top": "AtomicOverrides"}}, "AtomicOverrides"],
		[{"specPaths": [{"path": "/spec", "strategy": "PatchOverrides"}]}, "PatchOverrides"],
		[{"custom": "rates"}, "Custom"],
		[{"custom": "rates", "strategies": {"merge": "Patch"}}, "PatchDefaults"],
		[{"strategies": {"merge": "Patch"}, "defaultStrategy": "PatchOverrides"}, "PatchOverrides"],
		[{}, "AtomicDefaults"],
	] {
		[spec, wanted] := row
		kinds.normal_form("acme.io/RatePolicy", object.union(_least, spec)).defaultStrategy == wanted
	}
}

_wrapped := [
	{"path": "/spec/overrides", "strategy": "AtomicOverrides", "strategyPath": "/spec/overrides/strategy"},
	{"path": "/spec/defaults", "strategy": "AtomicDefaults"},
	{"path": "/spec", "strategyPath": "/spec/merge/type", "without": ["note"]},
]

_refs := ["targetRefs", "targetRef", "targetSelectors", "targetReference"]

# F6
test_a_wrapper_excludes_the_other_and_all_that_is_no_ref_or_strategy_beside_it if {
	kinds.places(_wrapped, false)[0] == {
		"path": "/spec/overrides",
		"segments": ["spec", "overrides"],
		"strategy": "AtomicOverrides",
		"strategySegments": ["spec", "overrides", "strategy"],
		"otherStrategies": [["spec", "merge", "type"]],
		"drop": array.concat(_refs, ["strategy"]),
		"withLabels": [],
		"inner": [],
		"rivals": {"/spec/defaults": ["spec", "defaults"]},
		"partners": {},
		"holder": {
			"segments": ["spec"],
			"allowed": array.concat(array.concat(_refs, ["note"]), ["overrides", "defaults"]),
		},
	}
}

test_a_bare_spec_has_no_rival_and_a_strategy_inside_it_is_not_proper if {
	kinds.places(_wrapped, false)[2] == {
		"path": "/spec",
		"segments": ["spec"],
		"strategy": "",
		"strategySegments": ["spec", "merge", "type"],
		"otherStrategies": [],
		"drop": array.concat(_refs, ["note", "overrides", "defaults"]),
		"withLabels": [],
		"inner": [["merge", "type"]],
		"rivals": {},
		"partners": {},
		"holder": {},
	}
}

test_a_strategy_outside_the_spec_proper_leaves_it_whole if {
	place := kinds.places([{"path": "/spec/rules", "strategyPath": "/spec/strategy"}], false)[0]
	object.filter(place, ["drop", "inner", "strategySegments"]) == {
		"drop": _refs,
		"inner": [],
		"strategySegments": ["spec", "strategy"],
	}
}

_kinds := {
	"example.com/ColorPolicy": testing.active_kind("example.com/ColorPolicy", testing.color_kind),
	"example.com/TimeoutPolicy": testing.active_kind("example.com/TimeoutPolicy", testing.timeout_kind),
	"acme.io/RatePolicy": testing.active_kind("acme.io/RatePolicy", _least),
}

_route := "gateway.networking.k8s.io/HTTPRoute"

# T2
test_a_kind_may_target_its_listed_types_or_anything if {
	kinds.may_target("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.may_target("example.com/ColorPolicy", "core/Service") with data.kinds as _kinds
	kinds.may_target("acme.io/RatePolicy", "core/Service") with data.kinds as _kinds
}

# T2
test_a_kind_may_target_sections_if_it_allows_them_and_the_type_has_any if {
	kinds.may_target_sections("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.may_target_sections("example.com/ColorPolicy", "gateway.networking.k8s.io/GatewayClass") with data.kinds as _kinds
	kinds.may_target_sections("acme.io/RatePolicy", _route) with data.kinds as _kinds
	kinds.may_target_sections("example.com/TimeoutPolicy", "core/Service") with data.kinds as _kinds
	not kinds.may_target_sections("acme.io/RatePolicy", "core/Namespace") with data.kinds as _kinds
}

# K4
test_a_kind_means_a_backend_as_a_frontend_by_its_role_or_by_the_level_that_it_acts_at if {
	every row in [
		[{"effectiveTarget": "Rule"}, true],
		[{"effectiveTarget": "Gateway"}, true],
		[{"effectiveTarget": "Backend"}, false],
		[{"effectiveTarget": "Port"}, false],
		[{"class": "Direct"}, false],
		[{"effectiveTarget": "Rule", "targets": [{"kind": "Service"}]}, true],
		[{"effectiveTarget": "Rule", "targets": [{"kind": "Service", "role": "Backend"}]}, false],
		[{"effectiveTarget": "Backend", "targets": [{"kind": "Service", "role": "Frontend"}]}, true],
	] {
		[spec, wanted] := row
		described := {"acme.io/P": testing.active_kind("acme.io/P", object.union({"kind": "P"}, spec))}
		role := _frontend_role("acme.io/P", "core/Service") with data.kinds as described
		role == wanted
	}
	not kinds.frontend_role("acme.io/RatePolicy", _route) with data.kinds as _kinds
}

_frontend_role(kind, type) if {
	kinds.frontend_role(kind, type)
} else := false

# K4
test_a_frontend_has_no_sections_to_target if {
	not kinds.may_target_sections("acme.io/RatePolicy", "core/Service") with data.kinds as _kinds
}

# P3
test_a_kind_names_namespaces_in_paths_only_where_it_may_target_them if {
	kinds.names_namespaces("acme.io/RatePolicy") == true with data.kinds as _kinds
	kinds.names_namespaces("example.com/ColorPolicy") == false with data.kinds as _kinds
}

# P5
test_a_kind_acts_on_its_effective_kinds_or_on_all if {
	kinds.acts_on("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.acts_on("example.com/ColorPolicy", "gateway.networking.k8s.io/GRPCRoute") with data.kinds as _kinds
	kinds.acts_on("acme.io/RatePolicy", "gateway.networking.k8s.io/GRPCRoute") with data.kinds as _kinds
}

# C2
test_a_kind_is_direct_or_not if {
	kinds.is_direct("example.com/TimeoutPolicy") with data.kinds as _kinds
	not kinds.is_direct("example.com/ColorPolicy") with data.kinds as _kinds
}

test_a_kind_is_cluster_scoped_by_nature_or_by_its_crd if {
	crd := {
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition",
		"metadata": {"name": "zones.acme.io"},
		"spec": {"group": "acme.io", "names": {"kind": "Zone"}, "scope": "Cluster"},
	}
	kinds.cluster_scoped("core/Namespace")
	kinds.cluster_scoped("acme.io/Zone") with input as {"changes": {"upsert": [crd]}}
	not kinds.cluster_scoped("acme.io/Zone")
}

# F6
test_wrappers_of_each_direction_are_partners_if_the_kind_combines_them if {
	places := kinds.places(_wrapped, true)
	[object.filter(place, ["path", "partners"]) | some place in places; place.partners != {}] == [
		{"path": "/spec/overrides", "partners": {"/spec/defaults": ["spec", "defaults"]}},
		{"path": "/spec/defaults", "partners": {"/spec/overrides": ["spec", "overrides"]}},
	]
	places[0].rivals == {}
}

_combines(schema) if {
	described := kinds.normal_form("example.com/HuePolicy", {
		"effectiveTarget": "Rule",
		"specPaths": [{"path": "/spec/override", "strategy": "PatchOverrides"}, {"path": "/spec/default", "strategy": "PatchDefaults"}],
	}) with data.bridge.kinds.crds as {"example.com/HuePolicy": {"schema": {"properties": {"spec": schema}}}}
	kinds.traits_of(described).joining == "parts"
} else := false

_both := {"properties": {"override": {"type": "object"}, "default": {"type": "object"}}}

test_a_schema_can_exclude_a_second_wrapper if {
	_combines(_both)
	not _combines(object.union(_both, {"x-kubernetes-validations": [{"rule": "!(has(self.override) && has(self.default))"}]}))
	not _combines(object.union(_both, {"x-kubernetes-validations": [{"rule": "!has(self.default) || !has(self.override)"}]}))
	not _combines(object.union(_both, {"oneOf": [{"required": ["override"]}, {"required": ["default"]}]}))
	_combines(object.union(_both, {"x-kubernetes-validations": [{"rule": "has(self.override) || has(self.default)"}]}))
}
