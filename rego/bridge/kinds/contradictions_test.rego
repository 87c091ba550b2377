package bridge.kinds_test

import data.bridge.kinds

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
		"a policy on a HTTPRoute (targets[0]) reaches no Gateway",
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
