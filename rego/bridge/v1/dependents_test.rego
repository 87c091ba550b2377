package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_both := [_rule_one, testing.cart_pay]

_concerned(objects, key, paths) := [found.scopes, found.policies] if {
	found := v1.dependents with input as _query_input(objects, {"keys": [key], "was": {key: paths}})
}

test_a_route_concerns_its_rules_and_the_policies_that_name_it if {
	_concerned([_warm, _slow], testing.cart_route, []) == [{_color: _both}, [_warm_key]]
}

test_a_policy_concerns_its_targets_and_policies_with_the_same_target if {
	other := testing.timeout("other", 2, [testing.service_ref("cart")], {})
	_concerned([_slow, other], _slow_key, []) == [
		{"example.com/TimeoutPolicy": _services},
		["example.com/TimeoutPolicy/shop/other", _slow_key],
	]
}

test_a_deleted_policy_has_its_targets_as_dependents if {
	other := testing.timeout("other", 2, [testing.service_ref("cart")], {})
	paths := [["attached", "example.com/TimeoutPolicy", "core/Service/shop/cart#gone"], ["targeted", "core/Service/shop/cart"]]
	_concerned([other], _slow_key, paths) == [
		{"example.com/TimeoutPolicy": _services},
		["example.com/TimeoutPolicy/shop/other", _slow_key],
	]
}

test_a_deleted_route_has_the_nodes_below_it_as_dependents if {
	pool := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend"})
	paths := [["parents", "core/Service/shop/cart"]]
	policy := testing.resource("example.com/v1", "PoolPolicy", "shop", "elsewhere")
	_concerned([pool, policy, _slow], "gateway.networking.k8s.io/HTTPRoute/shop/gone", paths) == [
		{"example.com/PoolPolicy": ["core/Service/shop/cart"], "example.com/TimeoutPolicy": _services},
		[_slow_key],
	]
}

test_kinds_without_policies_are_left_out if {
	pool := testing.policykind({"group": "example.com", "kind": "PoolPolicy", "effectiveTarget": "Backend"})
	paths := [["parents", "core/Service/shop/cart"]]
	_concerned([pool], "gateway.networking.k8s.io/HTTPRoute/shop/gone", paths) == [{}, []]
}

test_a_grant_concerns_those_that_refer_into_its_namespace if {
	far := testing.color("blog", "far", 1, [testing.far_ref("HTTPRoute", "shop", "cart")], {})
	grant := testing.grant("shop", "example.com", "ColorPolicy", "blog", testing.gateway_group, "HTTPRoute")
	_concerned([far, grant], "gateway.networking.k8s.io/ReferenceGrant/shop/grant", []) == [
		{_color: _both},
		["example.com/ColorPolicy/blog/far"],
	]
}

test_a_grant_and_a_namespace_concern_objects_that_foreign_policies_select_there if {
	selector := {"group": testing.gateway_group, "kind": "HTTPRoute", "namespaces": {"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}}
	far := testing.color("blog", "far", 1, [], {"targetSelectors": [selector]})
	grant := testing.grant("shop", "example.com", "ColorPolicy", "blog", testing.gateway_group, "HTTPRoute")
	concerned := [{_color: _both}, ["example.com/ColorPolicy/blog/far"]]
	_concerned([far, grant], "gateway.networking.k8s.io/ReferenceGrant/shop/grant", []) == concerned
	_concerned([far, grant], "core/Namespace/-/shop", []) == concerned
	_concerned([far, grant], "gateway.networking.k8s.io/ReferenceGrant/bank/other", []) == [{}, []]
}

test_a_policykind_concerns_the_other_policykinds if {
	_concerned([], "policybridge.io/PolicyKind/-/colorpolicy", []) == [
		{},
		["policybridge.io/PolicyKind/-/colorpolicy", "policybridge.io/PolicyKind/-/timeoutpolicy"],
	]
}

# S3
test_a_gateway_concerns_objects_that_keep_a_status_for_gateways_above_it if {
	_concerns_tls_policies("gateway.networking.k8s.io/Gateway/infra/public", {"statusShape": "Ancestors"})
}

# S3
test_a_gateway_concerns_policies_in_conflict_that_keep_their_status_for_gateways_above_them if {
	_concerned_by_gateway("Ancestors") == ["acme.io/TlsPolicy/shop/second"]
	_concerned_by_gateway("Conditions") == []
}

_concerned_by_gateway(shape) := found.policies if {
	kind := testing.policykind({
		"group": "acme.io",
		"kind": "TlsPolicy",
		"class": "Direct",
		"targets": [{"kind": "Service"}],
		"statusShape": shape,
	})
	tls := [testing.with_spec(
		testing.resource("acme.io/v1", "TlsPolicy", "shop", name),
		{"targetRefs": [testing.service_ref("cart")]},
	) |
		some name in ["first", "second"]
	]
	found := v1.dependents with data.objects as testing.stored(tls)
		with data.index as testing.stored_index(tls)
		with input as _query_input([kind], {"keys": ["gateway.networking.k8s.io/Gateway/infra/public"], "was": {}})
}

# P8
test_a_gatewayclass_concerns_direct_policies_of_kinds_with_controllers if {
	class := "gateway.networking.k8s.io/GatewayClass/-/example"
	_concerns_tls_policies(class, {"statusShape": "Conditions", "controllers": ["example.com/gw"]})
	not _concerns_tls_policies(class, {"statusShape": "Conditions"})
}

_concerns_tls_policies(key, fields) if {
	kind := testing.policykind(object.union(
		{"group": "acme.io", "kind": "TlsPolicy", "class": "Direct", "targets": [{"kind": "Service"}]},
		fields,
	))
	policy := testing.with_spec(
		testing.resource("acme.io/v1", "TlsPolicy", "shop", "tls"),
		{"targetRefs": [testing.service_ref("cart")]},
	)
	found := v1.dependents with data.objects as testing.stored([policy])
		with data.index as testing.stored_index([policy])
		with input as _query_input([kind], {"keys": [key], "was": {}})
	found.scopes["acme.io/TlsPolicy"] == ["core/Service/shop/cart"]
}

_labelled(color) := object.union(testing.route("red", [], [{"name": "one"}]), {"metadata": {"labels": {"color": color}}})

_red_one := "gateway.networking.k8s.io/HTTPRoute/shop/red#one"

_selecting := testing.color("shop", "by-label", 1, [], {"targetSelectors": [{
	"group": testing.gateway_group,
	"kind": "HTTPRoute",
	"matchLabels": {"color": "red"},
}]})

# T1: what selected an object by the labels that it had, and what does by those that it has.
test_an_object_concerns_the_policies_that_select_such_objects_in_its_namespace if {
	every color in ["red", "blue"] {
		_concerned([_labelled(color), _selecting], "gateway.networking.k8s.io/HTTPRoute/shop/red", []) == [
			{_color: [_red_one]},
			["example.com/ColorPolicy/shop/by-label"],
		]
	}
}

# T1
test_a_policy_concerns_its_present_and_former_selection if {
	path := ["selectors", "shop", "gateway.networking.k8s.io/HTTPRoute", `{"matchExpressions":[],"matchLabels":{"color":"blue"}}`]
	named := testing.color("shop", "named", 2, [testing.ref("HTTPRoute", "red")], {})
	key := "example.com/ColorPolicy/shop/by-label"
	_concerned([_labelled("red"), _selecting, named], key, []) == [{_color: [_red_one]}, [key, "example.com/ColorPolicy/shop/named"]]
	_concerned([_labelled("blue"), _selecting, named], key, [path]) == [{_color: [_red_one]}, [key, "example.com/ColorPolicy/shop/named"]]
	_concerned([_labelled("green"), _selecting, named], key, [path]) == [{}, [key]]
}

# T1, C2
test_a_gateway_concerns_direct_policies_below_it_that_a_class_name_limits if {
	refs := [object.union(testing.service_ref(name), {"className": "example"}) | some name in ["cart", "apart"]]
	limited := testing.timeout("limited", 1, refs, {})
	gateway := "gateway.networking.k8s.io/Gateway/infra/public"
	apart := testing.service("apart", [])
	_concerned([limited, apart], gateway, [])[0]["example.com/TimeoutPolicy"] == _services
	object.get(_concerned([testing.timeout("free", 1, [testing.service_ref("cart")], {})], gateway, [])[0], "example.com/TimeoutPolicy", []) == []
}

test_policy_that_may_not_name_an_object_does_not_depend_on_it if {
	far := testing.color("blog", "far", 1, [testing.far_ref("HTTPRoute", "shop", "cart")], {})
	grant := testing.grant("shop", "example.com", "ColorPolicy", "blog", testing.gateway_group, "HTTPRoute")
	_concerned([far, _warm], testing.cart_route, [])[1] == [_warm_key]
	_concerned([far, _warm], _warm_key, [["targeted", testing.cart_route]])[1] == [_warm_key]
	_concerned([far, _warm, grant], testing.cart_route, [])[1] == ["example.com/ColorPolicy/blog/far", _warm_key]
}

_net_kind := testing.policykind({
	"group": "acme.io",
	"kind": "NetPolicy",
	"class": "Direct",
	"targets": [{"group": "", "kind": "Service"}, {"group": testing.gateway_group, "kind": "Gateway"}],
	"selectors": [
		{"path": "/spec/pods", "namespaces": "/spec/in", "targets": [{"group": "", "kind": "Service"}]},
		{"path": "/spec/gateways", "controllers": ["example.com/gw"], "targets": [{"group": testing.gateway_group, "kind": "Gateway"}]},
	],
	"defaultStrategy": "Additive",
})

_net(name, spec) := testing.with_spec(testing.resource("acme.io/v1", "NetPolicy", "", name), spec)

_net_key(name) := concat("", ["acme.io/NetPolicy/-/", name])

_carts := [object.union(testing.service(name, []), {"metadata": {"labels": {"app": name}}}) | some name in ["till", "bank"]]

# T8
test_namespace_concerns_objects_that_policies_select_by_its_labels_and_their_own if {
	policies := [
		_net("red", {"pods": {"matchLabels": {"app": "till"}}, "in": {"matchLabels": {"team": "red"}}}),
		_net("other", {"pods": {"matchLabels": {"app": "none"}}, "in": {"matchLabels": {"team": "red"}}}),
		_net("everywhere", {"pods": {"matchLabels": {"app": "bank"}}}),
	]
	objects := array.concat([_net_kind], array.concat(_carts, policies))
	_concerned(objects, "core/Namespace/-/shop", []) == [{"acme.io/NetPolicy": ["core/Service/shop/till"]}, [_net_key("red")]]
	_concerned(objects, "core/Namespace/-/infra", []) == [{}, []]
}

# T8, P8
test_gatewayclass_concerns_its_gateways_that_policies_select_by_controller if {
	policies := [_net("edge", {"gateways": {}}), _net("named", {"gateways": {"matchLabels": {"team": "red"}}}), _net("pods", {"pods": {}})]
	objects := array.concat([_net_kind], policies)
	_concerned(objects, "gateway.networking.k8s.io/GatewayClass/-/example", []) == [
		{"acme.io/NetPolicy": ["gateway.networking.k8s.io/Gateway/infra/public"]},
		[_net_key("edge")],
	]
	_concerned(objects, "gateway.networking.k8s.io/GatewayClass/-/other", []) == [{}, []]
}

# A route's status names the default Gateways as its parents.
test_gateway_that_begins_or_ends_as_a_default_gateway_concerns_the_routes_that_use_default_gateways if {
	gateway := testing.gateway("spare", [testing.listener("http", 80)])
	default_gateway := object.union(gateway, {"spec": {"defaultScope": "All"}})
	route := object.union(testing.route("free", [], [{}]), {"spec": {"useDefaultGateways": "All"}})
	was_default := [["parents", "gateway.networking.k8s.io/Gateway/-/All"]]
	concerned := [is_concerned |
		some [changed, paths] in [[gateway, was_default], [default_gateway, []], [default_gateway, was_default], [gateway, []]]
		key := "gateway.networking.k8s.io/Gateway/infra/spare"
		answer := v1.dependents with input as _query_input([changed, route], {"keys": [key], "was": {key: paths}})
		is_concerned := "gateway.networking.k8s.io/HTTPRoute/shop/free" in answer.objects
	]
	concerned == [true, true, false, false]
}

# T2, wholePorts
test_a_listenerset_concerns_policies_that_act_on_whole_ports_of_its_gateway if {
	concerned := [_concerned([kind, policy], listener_set, [["children", gateway]]) |
		gateway := "gateway.networking.k8s.io/Gateway/infra/public"
		listener_set := "gateway.networking.k8s.io/ListenerSet/infra/gone"
		some whole_ports in [true, false]
		targets := [{"group": testing.gateway_group, "kind": "Gateway", "sections": true, "wholePorts": whole_ports}]
		kind := testing.policykind({"group": "example.com", "kind": "PortPolicy", "targets": targets, "effectiveTarget": "Listener"})
		ref := testing.section_ref("Gateway", "public", "http")
		policy := testing.with_spec(testing.resource("example.com/v1", "PortPolicy", "infra", "http"), {"targetRefs": [ref]})
	]
	concerned == [[{"example.com/PortPolicy": [testing.listener_http]}, ["example.com/PortPolicy/infra/http"]], [{}, []]]
}

# F5
test_a_policy_concerns_all_targets_of_those_that_it_may_conflict_with if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "HopPolicy",
		"class": "Direct",
		"sameLevel": "ConflictOnOverlap",
		"targets": [{"group": "", "kind": "Service"}],
	})
	hops := {name: testing.with_spec(testing.resource("example.com/v1", "HopPolicy", "shop", name), {"targetRefs": refs, "hops": 1}) |
		some name, refs in {"older": [testing.service_ref("cart")], "younger": [testing.service_ref("catalog"), testing.service_ref("cart")]}
	}
	[concerned, _] := _concerned([kind, testing.service("catalog", []), hops.older, hops.younger], "example.com/HopPolicy/shop/older", [])
	"core/Service/shop/catalog" in concerned["example.com/HopPolicy"]
}

test_a_policy_concerns_all_targets_of_those_with_which_it_must_agree if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "HopPolicy",
		"class": "Inherited",
		"effectiveTarget": "Rule",
		"defaultStrategy": "Additive",
		"mustAgree": ["/spec/priority"],
		"targets": [{"group": testing.gateway_group, "kind": "HTTPRoute", "sections": true}],
	})
	hops := {name: testing.with_spec(testing.resource("example.com/v1", "HopPolicy", "shop", name), {"targetRefs": refs, "hops": 1}) |
		some name, refs in {"rule": [testing.section_ref("HTTPRoute", "cart", "pay")], "whole": [testing.ref("HTTPRoute", "cart")]}
	}
	changed := object.union(hops.rule, {"spec": {"priority": 5}})
	[concerned, _] := _concerned([kind, changed, hops.whole], "example.com/HopPolicy/shop/rule", [])
	{node | some node in concerned["example.com/HopPolicy"]; startswith(node, testing.cart_route)} == {testing.cart_pay, _rule_one}
}

_services := ["core/Service/shop/cart", "core/Service/shop/cart#admin", "core/Service/shop/cart#http"]

test_scopes_are_the_targets_of_the_policies_of_each_kind if {
	all := v1.scopes with input as testing.changed([_warm, _slow])
	one := v1.scopes with input as _query_input([_warm, _slow], {"policyKind": _color})
	all == {_color: [_rule_one, testing.cart_pay], "example.com/TimeoutPolicy": _services}
	one == {_color: [_rule_one, testing.cart_pay]}
	some_of := v1.scopes with input as _query_input([_warm, _slow], {"policies": [_slow_key, "example.com/ColorPolicy/shop/deleted"]})
	some_of == {_color: [], "example.com/TimeoutPolicy": _services}
	wrong := v1.scopes with input as _query_input([_warm], {"policies": ["warm"]})
	wrong.error.code == "InvalidInput"
}

test_policies_are_the_keys_of_all_policies if {
	all := v1.policies with input as testing.changed([_warm, _slow])
	one := v1.policies with input as _query_input([_warm, _slow], {"policyKind": _color})
	[all, one] == [[_warm_key, _slow_key], [_warm_key]]
}

test_policykinds_are_all_active_or_not if {
	odd := testing.resource("policybridge.io/v1alpha1", "PolicyKind", "", "odd")
	found := v1.policykinds with input as testing.changed([odd])
	found == [
		"policybridge.io/PolicyKind/-/colorpolicy",
		"policybridge.io/PolicyKind/-/odd",
		"policybridge.io/PolicyKind/-/timeoutpolicy",
	]
}

test_active_kinds_are_reported_by_name if {
	found := v1.kinds_in_force with input as testing.changed([])
	object.keys(found) == {_color, "example.com/TimeoutPolicy"}
}

test_a_crd_with_a_label_that_is_no_class_is_reported if {
	crd := object.union(
		testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "odds.acme.io"),
		{
			"metadata": {"labels": {"gateway.networking.k8s.io/policy": "Odd"}},
			"spec": {"group": "acme.io", "names": {"kind": "Odd"}, "versions": [{"name": "v1", "served": true}]},
		},
	)
	message := "label gateway.networking.k8s.io/policy: Odd is not one of Direct, Inherited, true"
	found := v1.undescribed with input as testing.changed([crd])
	found == {"acme.io/Odd": {"crd": "apiextensions.k8s.io/CustomResourceDefinition/-/odds.acme.io", "message": message}}
}

_answers := [v1.dependents, v1.neighbors, v1.deleted_objects, v1.policies, v1.undescribed, v1.version_problems, v1.policykind_doubts]

test_questions_about_all_objects_refuse_changes_of_a_wrong_form if {
	answers := _answers with input as {"keys": [], "changes": {"delete": "everything"}}
	{answer.error.message | some answer in answers} == {"changes.delete must be a list of keys"}
	count(answers) == 7
}

test_deleted_objects_are_those_of_a_change_and_of_deleted_namespaces if {
	found := v1.deleted_objects with data.objects as testing.stored(array.concat(testing.world, [_warm]))
		with input as {"changes": {"delete": ["core/Namespace/-/shop"]}}
	found == ["core/Namespace/-/shop", "core/Service/shop/cart", _warm_key, testing.cart_route]
}

test_a_policykind_that_is_refused_says_why if {
	odd := testing.policykind({"group": "acme.io", "kind": "OddPolicy", "class": "Inherited"})
	found := v1.refused_policykinds with input as testing.changed([odd])
	found == {"policybridge.io/PolicyKind/-/oddpolicy": "effectiveTarget is missing: an Inherited kind needs the level at which it acts"}
}

test_a_type_without_a_crd_has_no_guesses if {
	found := v1.guessed with input as object.union(testing.changed([]), {"guessedType": "acme.io/Unknown"})
	found == []
	wrong := v1.guessed with input as object.union(testing.changed([]), {"guessedType": 5})
	wrong.error.code == "InvalidInput"
}

_versioned_crd := testing.with_spec(testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "colorpolicies.example.com"), {
	"group": "example.com",
	"names": {"kind": "ColorPolicy", "plural": "colorpolicies"},
	"scope": "Namespaced",
	"versions": [{"name": "v1", "served": true, "storage": true}],
})

test_policies_of_a_version_that_is_not_served_are_reported if {
	old := object.union(_warm, {"apiVersion": "example.com/v1alpha1", "metadata": {"name": "old"}})
	found := v1.version_problems with input as testing.changed([_versioned_crd, _warm, old])
	[problem.policy | some problem in found] == ["example.com/ColorPolicy/shop/old"]
}

test_a_policykind_with_a_target_that_no_crd_defines_is_doubtful if {
	room := testing.policykind({"group": "example.com", "kind": "RoomPolicy", "class": "Direct", "targets": [{"group": "example.com", "kind": "Chamber"}]})
	doubts := v1.policykind_doubts with input as testing.changed([_versioned_crd, room])
	doubts["policybridge.io/PolicyKind/-/roompolicy"] == [`targets[0]: no CRD defines "example.com/Chamber"`]
	not doubts["policybridge.io/PolicyKind/-/colorpolicy"]
}

test_a_gateway_concerns_the_targets_that_it_serves_by_a_label if {
	kind := testing.policykind({
		"group": "example.com", "kind": "WayPolicy", "class": "Direct",
		"targets": [{"group": "", "kind": "Service", "label": "example.com/served-by", "servedBy": {"controllers": ["example.com/mesh"]}}],
	})
	web := object.union(testing.service("web", [{"port": 80}]), {"metadata": {"labels": {"example.com/served-by": "way"}}})
	slow := testing.with_spec(testing.resource("example.com/v1", "WayPolicy", "shop", "slow"), {"targetRefs": [testing.service_ref("web")], "request": "5s"})
	way := testing.with_spec(testing.resource(testing.gateway_api, "Gateway", "shop", "way"), {"gatewayClassName": "mesh", "listeners": []})
	objects := [kind, web, slow, way]
	[scopes, _] := _concerned(objects, "gateway.networking.k8s.io/Gateway/shop/way", [])
	"core/Service/shop/web" in scopes["example.com/WayPolicy"]
	[of_class, _] := _concerned(objects, "gateway.networking.k8s.io/GatewayClass/-/mesh", [])
	"core/Service/shop/web" in of_class["example.com/WayPolicy"]
	[of_another, _] := _concerned(objects, "gateway.networking.k8s.io/Gateway/shop/other", [])
	not of_another["example.com/WayPolicy"]
}
