package bridge.constraints_reach_test

import data.bridge.constraints
import data.bridge.effective
import data.bridge.kinds
import data.bridge.testing

_found(guardrail, match, parameters) := found if {
	spec := {"policy": concat(".", ["bridge.guardrails", guardrail]), "match": match, "parameters": parameters}
	found := constraints.unreachable(spec) with input as testing.changed([_schema])
}

# The colors' CRD, whose spec is open below `hints`.
_schema := testing.with_spec(testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "colorpolicies.example.com"), {
	"group": "example.com",
	"names": {"kind": "ColorPolicy", "plural": "colorpolicies"},
	"scope": "Namespaced",
	"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
		"type": "object",
		"properties": {
			"theme": {"type": "string"},
			"frame": {"type": "object", "properties": {"inner": {"type": "object", "properties": {"height": {"type": "integer"}}}, "color": {"type": "string"}}},
			"hints": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"palette": {"type": "array", "items": {"type": "object", "properties": {"accent": {"type": "string"}}}},
			"byPage": {"type": "object", "additionalProperties": {"type": "object", "properties": {"accent": {"type": "string"}}}},
		},
	}}}}}],
})

_colors := "example.com/ColorPolicy"

_routes := {"kinds": [{"apiGroups": [testing.gateway_group], "kinds": ["HTTPRoute"]}]}

_of(group, kind) := {"kinds": [{"apiGroups": [group], "kinds": [kind]}]}

test_a_guardrail_that_matches_has_no_problem if {
	every match in [{}, _routes, _of("", "Service"), {"kinds": [{"kinds": ["GRPCRoute"]}]}, {"kinds": [{"apiGroups": ["*"], "kinds": ["*"]}]}] {
		_found("required_policy", match, {"kinds": [_colors], "field": "/theme"}) == []
		_found("bounded_field", match, {"kind": _colors, "field": "/theme"}) == []
	}
	_found("no_policy_without_effect", _of("example.com", "ColorPolicy"), {}) == []
	_found("bounded_field", _of("", "Service"), {"kind": "example.com/TimeoutPolicy", "field": "/a"}) == []
	_found("own", _routes, {}) == []
	constraints.unreachable({"policy": "k8s.limits", "match": _of("apps", "Deploymnt")}) == []
	_found("no_policy_without_effect", {"kinds": [{"apiGroups": ["*"], "kinds": ["Widget"]}]}, {}) == _found("no_policy_without_effect", {"kinds": [{"kinds": ["Widget"]}]}, {})
}

test_misspelled_kinds_and_groups_have_the_nearest_name if {
	_found("bounded_field", {"kinds": [{"kinds": ["HTTPRuote"]}]}, {}) == [`match.kinds[0]: no type has the kind "HTTPRuote"; did you mean "HTTPRoute"?`]
	_found("bounded_field", {"kinds": [{"apiGroups": ["gateway.networking.io"]}]}, {}) == [`match.kinds[0]: no type has the group "gateway.networking.io"; did you mean "gateway.networking.k8s.io"?`]
	_found("bounded_field", _of("gateway.network.k8s.io", "HTTPRoute"), {}) == [concat("", [
		`match.kinds[0]: no CRD defines "gateway.network.k8s.io/HTTPRoute"; `,
		`did you mean "gateway.networking.k8s.io/HTTPRoute"?`,
	])]
	_found("own", _of(testing.gateway_group, "HTTPRout"), {}) == [concat("", [
		`match.kinds[0]: no CRD defines "gateway.networking.k8s.io/HTTPRout"; `,
		`did you mean "gateway.networking.k8s.io/HTTPRoute"?`,
	])]
}

test_a_text_that_no_object_has_as_its_group_or_kind_has_the_right_one if {
	found := {text: constraints.unreachable({"policy": "k8s.limits", "match": {"kinds": [{"apiGroups": [text], "kinds": ["Pod"]}]}}) |
		some text in ["", "*", "apps", "core", "v1", "apps/v1"]
	} with input as testing.changed([])
	{text: concat("", problems) | some text, problems in found; problems != []} == {
		"core": `match.kinds[0]: no API group is "core"; the core group is ""`,
		"v1": `match.kinds[0]: no API group is "v1"; the core group is ""`,
		"apps/v1": `match.kinds[0]: no API group is "apps/v1"; write "apps"`,
	}
	_found("own", _of("gateway.networking.k8s.io/v1", "HTTPRoute"), {}) == [`match.kinds[0]: no API group is "gateway.networking.k8s.io/v1"; write "gateway.networking.k8s.io"`]
	_found("own", {"kinds": [{"kinds": ["apps/Deployment"]}]}, {}) == [`match.kinds[0]: no kind is "apps/Deployment"; write "Deployment"`]
	_found("own", {"kinds": [{"kinds": ["HTTPRoute.gateway.networking.k8s.io"]}]}, {}) == [`match.kinds[0]: no kind is "HTTPRoute.gateway.networking.k8s.io"; write "HTTPRoute"`]
}

test_a_scope_that_the_kinds_do_not_have_never_matches if {
	_found("own", object.union(_routes, {"scope": "Cluster"}), {}) == ["match.scope: none of the kinds has the scope Cluster"]
	_found("own", object.union(_of(testing.gateway_group, "GatewayClass"), {"scope": "Namespaced"}), {}) == ["match.scope: none of the kinds has the scope Namespaced"]
	every match in [{}, {"scope": "Cluster"}, object.union(_routes, {"scope": "Namespaced"}), object.union(_routes, {"scope": "*"}), object.union(_of("example.com", "ColorPolicy"), {"scope": "Cluster"})] {
		_found("own", match, {}) == []
	}
}

test_a_misspelled_policy_kind_has_the_nearest_name if {
	_found("bounded_field", _routes, {"kind": "example.com/ColourPolicy"}) == [`parameters: unknown policy kind "example.com/ColourPolicy"; did you mean "example.com/ColorPolicy"?`]
	_found("required_policy", _routes, {"kinds": [_colors, "vendor.dev/AccessRule"]}) == []
	_found("required_policy", _routes, {"kinds": ["vendor.dev/AccessRule"]}) == [`parameters: unknown policy kind "vendor.dev/AccessRule"`]
}

test_a_kind_that_acts_below_the_selected_objects_is_never_in_effect if {
	_found("required_policy", _of(testing.gateway_group, "Gateway"), {"kinds": [_colors]}) == ["match selects nothing at which ColorPolicy can be in effect"]
	_found("bounded_field", _routes, {"kind": "example.com/TimeoutPolicy", "field": "/a"}) == ["match selects nothing at which TimeoutPolicy can be in effect"]
	_found("bounded_field", _of("example.com", "ColorPolicy"), {"kind": _colors, "field": "/theme"}) == ["match selects nothing at which ColorPolicy can be in effect"]
	_found("no_policy_without_effect", _routes, {}) == ["match selects no policy kind"]
}

test_no_kind_is_in_effect_at_objects_without_a_place_in_the_hierarchy if {
	every match in [_of("", "Namespace"), _of("", "ConfigMap"), _of("apps", "Deployment"), _of("policybridge.io", "Constraint"), {"kinds": [{"apiGroups": ["", "apps"], "kinds": ["Pod", "Namespace"]}]}] {
		_found("required_policy", match, {"kinds": [_colors]}) == ["match selects nothing at which ColorPolicy can be in effect"]
		_found("no_policy_without_effect", match, {}) == ["match selects no policy kind"]
	}
	every match in [{"kinds": [{"apiGroups": ["*"], "kinds": ["Namespace", "HTTPRoute"]}]}, {"kinds": [{"apiGroups": [""], "kinds": ["*"]}]}, _of("inference.networking.k8s.io", "InferencePool")] {
		_found("required_policy", match, {"kinds": [_colors]}) == []
	}
}

test_a_field_that_the_schema_lacks_has_the_nearest_name if {
	every field in ["/theme", "/hints/any/thing", "/palette", "/palette/0/accent", "/palette/*/accent", "/byPage/home/accent", "/*/accent", "/frame/*/height"] {
		_found("bounded_field", _routes, {"kind": _colors, "field": field}) == []
	}
	unknown := {
		"/theem": `parameters: example.com/ColorPolicy has no field "theem"; did you mean "theme"?`,
		"/theme/dark": `parameters: example.com/ColorPolicy has no field "dark"`,
		"/palette/0/acent": `parameters: example.com/ColorPolicy has no field "acent"; did you mean "accent"?`,
		"/palette/*/acent": `parameters: example.com/ColorPolicy has no field "acent"; did you mean "accent"?`,
		"/frame/*/hieght": `parameters: example.com/ColorPolicy has no field "hieght"`,
		"/palette/": `parameters: example.com/ColorPolicy has no field ""`,
		"/palette//accent": `parameters: example.com/ColorPolicy has no field ""`,
		"/byPage/home/other": `parameters: example.com/ColorPolicy has no field "other"`,
	}
	every field, message in unknown {
		_found("bounded_field", _routes, {"kind": _colors, "field": field}) == [message]
		_found("no_weakening", _routes, {"kinds": [_colors], "fields": ["/theme", field]}) == [message]
	}
}

# As of a release, without a CRD: a list has the fields of its items, and null accepts everything.
_released := {_colors: {"release": "Palette v1", "fields": {"spec": {
	"theme": null,
	"palette": {"name": null, "accent": null},
	"byPage": {"*": {"accent": null}},
	"size": {"wide": null},
}}}}

_without_crd(field) := found if {
	found := [problem | problem := kinds.unknown_field(_colors, effective.segments(field))] with input as testing.changed([])
		with data.bridge_settings.fields as _released
}

test_a_field_that_a_release_lacks_is_found_without_a_crd if {
	every field in [
		"/theme", "/theme/any", "/palette", "/palette/0/accent", "/palette/*/accent", "/palette/first/accent", "/byPage/home/accent",
		"/*/accent", "/size/*",
	] {
		_without_crd(field) == []
	}
	unknown := {
		"/theem": `example.com/ColorPolicy has no field "theem"; did you mean "theme"?`,
		"/palette/0/acent": `example.com/ColorPolicy has no field "acent"; did you mean "accent"?`,
		"/byPage/home/acent": `example.com/ColorPolicy has no field "acent"; did you mean "accent"?`,
		"/palette/*/acent": `example.com/ColorPolicy has no field "acent"; did you mean "accent"?`,
		"/palette/": `example.com/ColorPolicy has no field "" in Palette v1; for another release add its CRD`,
		"/size/qq": `example.com/ColorPolicy has no field "qq" in Palette v1; for another release add its CRD`,
		"/": `example.com/ColorPolicy has no field "" in Palette v1; for another release add its CRD`,
	}
	every field, message in unknown {
		_without_crd(field) == [message]
	}
}

test_the_crd_precedes_the_release if {
	_found("bounded_field", _routes, {"kind": _colors, "field": "/hints/any"}) == [] with data.bridge_settings.fields as _released
	_found("bounded_field", _routes, {"kind": _colors, "field": "/size"}) != [] with data.bridge_settings.fields as _released
}

test_parameters_of_a_selection_are_checked if {
	spec := {
		"policy": "bridge.guardrails.bounded_field",
		"match": _routes,
		"parameters": {"kind": _colors},
		"parameterSelection": [{"parameters": {"field": "/theem"}}],
	}
	found := constraints.unreachable(spec) with input as testing.changed([_schema])
	found == [`parameters: example.com/ColorPolicy has no field "theem"; did you mean "theme"?`]
}

_with_selection(policy, match) := found if {
	spec := {"policy": policy, "match": _routes, "parameters": {"kind": _colors, "field": "/theme"}, "parameterSelection": [{"parameters": {}}, {"match": match, "parameters": {}}]}
	found := constraints.unreachable(spec) with input as testing.changed([_schema])
}

test_an_entry_of_a_selection_that_can_never_match_is_a_mistake if {
	guardrail := "bridge.guardrails.bounded_field"
	every match in [{}, _routes, {"kinds": [{"apiGroups": ["*"]}]}, {"scope": "Namespaced"}, {"kinds": [{"kinds": ["HTTPRoute", "GRPCRoute"]}]}] {
		_with_selection(guardrail, match) == []
	}
	_with_selection(guardrail, {"kinds": [{"kinds": ["HTTPRoutes"]}]}) == [`parameterSelection[1].match.kinds[0]: no type has the kind "HTTPRoutes"; did you mean "HTTPRoute"?`]
	_with_selection(guardrail, _of("", "Service")) == ["parameterSelection[1].match: none of its kinds is one that match selects"]
	_with_selection(guardrail, {"scope": "Cluster"}) == ["parameterSelection[1].match.scope: none of the kinds has the scope Cluster"]
	_with_selection("k8s.limits", {"kinds": [{"kinds": ["apps/Deployment"]}]}) == [`parameterSelection[1].match.kinds[0]: no kind is "apps/Deployment"; write "Deployment"`]
	_with_selection("k8s.limits", _of("", "Service")) == []
}

test_a_constraint_that_never_matches_is_not_accepted if {
	spec := {"policy": "bridge.guardrails.required_policy", "match": {"kinds": [{"kinds": ["HTTPRuote"]}]}, "parameters": {"kinds": [_colors]}}
	constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "colors"), spec)
	condition := constraints.accepted("colors", null, null) with input as testing.changed([constraint])
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
	[condition.status, condition.reason] == ["False", "NeverMatches"]
}

_unmatched(match) := found if {
	spec := {"policy": "own", "match": match}
	pod := object.union(testing.resource("v1", "Pod", "shop", "till"), {"metadata": {"labels": {"tier": "edge"}}})
	unmatched := constraints.unmatched(spec) with input as testing.changed([pod])
	found := {message | some message in unmatched}
}

_pods(more) := object.union(_of("", "Pod"), more)

test_a_match_that_selects_something_has_no_warning if {
	every more in [
		{}, {"namespaces": ["shop", "shop-2"]}, {"namespaces": ["*"]}, {"name": "t*"}, {"excludedNamespaces": ["infra"]}, {"scope": "Namespaced"},
		{"labelSelector": {"matchLabels": {"tier": "edge"}}},
	] {
		_unmatched(_pods(more)) == set()
	}

	# no object of the kind is here, perhaps only because the audit does not cover it
	_unmatched(object.union(_of("apps", "Deployment"), {"name": "till"})) == set()
}

test_a_match_that_selects_no_object_is_a_warning if {
	none := "match selects none of the objects of its kinds (1); check %s"
	_unmatched(_pods({"excludedNamespaces": ["*"]})) == {sprintf(none, ["excludedNamespaces"])}
	_unmatched(_pods({"namespaces": ["sh"], "labelSelector": {}})) == {sprintf(none, ["namespaces, labelSelector"])}
	_unmatched(_pods({"namespaces": ["pay-*"]})) == {sprintf(none, ["namespaces"])}
	_unmatched(_pods({"labelSelector": {"matchLabels": {"tier": "edgy"}}})) == {sprintf(none, ["labelSelector"])}
	_unmatched(_pods({"namespaceSelector": {"matchLabels": {"env": "prod"}}})) == {sprintf(none, ["namespaceSelector"])}
	_unmatched(_pods({"name": "tills"})) == {sprintf(none, [`name; did you mean "till"?`])}
}

test_a_selector_of_namespaces_says_of_which_it_knows_no_labels if {
	pods := [testing.resource("v1", "Pod", namespace, "till") | some namespace in ["inner", "outer"]]
	inner := object.union(testing.resource("v1", "Namespace", "", "inner"), {"metadata": {"labels": {"env": "prod"}}})
	selecting := {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
	found := constraints.unmatched({"policy": "own", "match": _pods(selecting)}) with input as testing.changed(array.concat(pods, [inner]))
	found == {"match.namespaceSelector": "match.namespaceSelector: the labels of namespace outer are unknown, so objects in it are not selected: add its Namespace"}
	excluded := object.union(selecting, {"excludedNamespaces": ["outer"]})
	none := constraints.unmatched({"policy": "own", "match": _pods(excluded)}) with input as testing.changed(array.concat(pods, [inner]))
	none == {}
}

test_a_misspelled_namespace_has_the_nearest_name if {
	misspelled := `%s.namespaces[%d]: no namespace is "shopp"; did you mean "shop"?`
	_unmatched(_pods({"namespaces": ["shopp"]})) == {sprintf(misspelled, ["match", 0])}
	_unmatched({"namespaces": ["infra", "shopp"]}) == {sprintf(misspelled, ["match", 1])}
	selection := {"policy": "own", "parameterSelection": [{"match": {"namespaces": ["shopp"]}}]}
	found := constraints.unmatched(selection) with input as testing.changed([])
	found == {"parameterSelection[0].match.namespaces[0]": sprintf(misspelled, ["parameterSelection[0].match", 0])}
}

test_an_entry_of_a_selection_for_no_selected_object_is_a_warning if {
	spec := {"policy": "own", "match": _of("", "Pod"), "parameterSelection": [
		{"match": {"labelSelector": {"matchLabels": {"tier": "edge"}}}},
		{"match": {"kinds": [{"kinds": ["Service"]}]}},
		{},
	]}
	pod := object.union(testing.resource("v1", "Pod", "shop", "till"), {"metadata": {"labels": {"tier": "edge"}}})
	found := constraints.unmatched(spec) with input as testing.changed([pod])
	found == {"parameterSelection[1].match": "parameterSelection[1].match selects none of the objects that match selects (1); check kinds"}

	# each entry has a place of its own
	twice := object.union(spec, {"parameterSelection": array.concat(spec.parameterSelection, [{"match": {"name": "tills"}}])})
	both := constraints.unmatched(twice) with input as testing.changed([pod])
	object.keys(both) == {"parameterSelection[1].match", "parameterSelection[3].match"}

	# no object that the match selects is here, perhaps only because the audit does not cover it
	none := constraints.unmatched(spec) with input as testing.changed([])
	none == {}
}

test_nothing_is_unmatched_where_objects_are_not_readable if {
	spec := {"policy": "own", "match": {"namespaces": ["shopp"]}}
	found := constraints.unmatched(spec) with input as testing.changed([]) with data.unread as {"core/Pod": ["infra"]}
	found == {}
	beside := constraints.unmatched(spec) with input as testing.changed([]) with data.bridge_below.partial as true
	beside == {}
}

test_a_scope_that_leaves_only_kinds_without_judgement_never_matches if {
	both := {"scope": "Cluster", "kinds": [{"kinds": ["HTTPRoute", "GatewayClass"]}]}
	_found("required_policy", both, {"kinds": [_colors]}) == ["match selects nothing at which ColorPolicy can be in effect"]
	_found("required_policy", object.union(both, {"scope": "*"}), {"kinds": [_colors]}) == []
}

test_only_objects_that_a_guardrail_can_judge_are_something_that_its_match_selects if {
	spec := {"policy": "bridge.guardrails.required_policy", "parameters": {"kinds": [_colors]}}
	none := constraints.unmatched(object.union(spec, {"match": {"excludedNamespaces": ["*"]}})) with input as testing.changed([])
	none == {"match": "match selects none of the objects of its kinds (2); check excludedNamespaces"} # a Service and a route
	some_objects := constraints.unmatched(object.union(spec, {"match": {"namespaces": ["shop"]}})) with input as testing.changed([])
	some_objects == {}
}

test_a_kind_or_group_that_does_not_exist_is_a_warning_of_a_policy_that_judges_objects if {
	every row in [
		[_of("apps", "deployment"), `no CRD defines "apps/deployment"; did you mean "apps/Deployment"?`],
		[_of("apps", "Deployments"), `no CRD defines "apps/Deployments"; did you mean "apps/Deployment"?`],
		[_of("app", "Deployment"), `no CRD defines "app/Deployment"; did you mean "apps/Deployment"?`],
		[_of("apps", "Pod"), `no CRD defines "apps/Pod"; did you mean "core/Pod"?`],
		[_of("", "CronJob"), `no CRD defines "core/CronJob"; did you mean "batch/CronJob"?`],
		[_of("batch", "Gadget"), `no CRD defines "batch/Gadget"`],
		[{"kinds": [{"kinds": ["deployment"]}]}, `no type has the kind "deployment"; did you mean "Deployment"?`],
		[{"kinds": [{"apiGroups": ["gateway.networking.io"]}]}, `no type has the group "gateway.networking.io"; did you mean "gateway.networking.k8s.io"?`],
	] {
		[match, problem] := row
		_unmatched(match) == {sprintf("match.kinds[0]: %s", [problem])}
	}
	every match in [_of("apps", "Deployment"), _of("acme.io", "Rollout"), {"kinds": [{"apiGroups": ["", "apps"], "kinds": ["Pod", "Deployment"]}]}] {
		_unmatched(match) == set()
	}
}

test_a_constraint_may_be_meant_for_the_types_that_it_matches_and_for_all_if_it_names_none_that_exist if {
	some_match := {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}
	about_routes := {concern |
		some concern, match in {
			"no match": null,
			"all": {},
			"routes": _routes,
			"misspelled": _of(testing.gateway_group, "HTTPRout"),
			"others": some_match,
			"no list": {"kinds": "HTTPRoute"},
		}
		constraint := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "some"), {"match": match})
		constraints.may_concern("some", "gateway.networking.k8s.io/HTTPRoute") with input as testing.changed([constraint])
	}
	about_routes == {"no match", "all", "routes", "misspelled", "no list"}
}
