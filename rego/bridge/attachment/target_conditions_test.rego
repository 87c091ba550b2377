package bridge.attachment_test

import data.bridge.attachment
import data.bridge.testing

# A kind whose policies count only at some Gateways, routes and ports.
_gate_kind(fields) := testing.policykind(object.union(
	{
		"group": "example.com",
		"kind": "GatePolicy",
		"class": "Inherited",
		"effectiveTarget": "Rule",
		"crossNamespace": "ReferenceGrant",
		"targets": [
			{
				"group": testing.gateway_group,
				"kind": "Gateway",
				"sections": true,
				"controllers": ["acme.io/second", "acme.io/first"],
				"exceptAddresses": ["acme.io/byHand"],
			},
			{"group": testing.gateway_group, "kind": "HTTPRoute", "ownPlaces": true},
			{"group": "", "kind": "Service", "sections": true, "protocols": ["TCP", "SCTP"]},
		],
	},
	fields,
))

_gate(namespace, refs) := testing.with_spec(testing.resource("example.com/v1", "GatePolicy", namespace, "gate"), {"targetRefs": refs, "open": true})

_gate_verdicts(refs, objects) := _verdicts(_gate("shop", refs), array.concat([_gate_kind({})], objects))

_class(controller) := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "guarded"), {"controllerName": controller})

_door(spec) := object.union(testing.gateway("door", [testing.listener("http", 80)]), {"metadata": {"namespace": "shop"}, "spec": object.union({"gatewayClassName": "guarded"}, spec)})

_at_door := [testing.ref("Gateway", "door")]

# P8
test_a_gateway_of_a_controller_that_the_kind_does_not_name_is_refused if {
	_gate_verdicts(_at_door, [_door({}), _class("acme.io/first")]) == [_accepted]
	_gate_verdicts(_at_door, [_door({}), _class("acme.io/third")]) == [[
		"Invalid",
		"Gateway/shop/door belongs to GatewayClass/guarded, whose controller is not acme.io/first or acme.io/second",
	]]
	_gate_verdicts(_at_door, [_door({"gatewayClassName": "unknown"})]) == [_accepted]
}

test_a_gateway_with_an_address_that_the_kind_excepts_is_refused if {
	_gate_verdicts(_at_door, [_door({"addresses": [{"value": "10.0.0.1"}]})]) == [_accepted]
	_gate_verdicts(_at_door, [_door({"addresses": [{"value": "10.0.0.1"}, {"type": "acme.io/byHand", "value": "x"}]})]) == [[
		"Invalid",
		"Gateway/shop/door has an address of type acme.io/byHand, so its proxies are deployed by hand. Select them by their labels",
	]]
}

_canary := testing.route("canary", [{"name": "public", "namespace": "infra", "sectionName": "http"}], [{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}])

test_a_route_that_shares_its_place_needs_the_other_route_as_a_target_too if {
	cart := testing.ref("HTTPRoute", "cart")
	_gate_verdicts([cart], []) == [_accepted]
	_gate_verdicts([cart], [_canary]) == [[
		"Invalid",
		"HTTPRoute/shop/cart shares a port, a hostname and a path with HTTPRoute/shop/canary, which GatePolicy/shop/gate does not target",
	]]
	_gate_verdicts([cart, testing.ref("HTTPRoute", "canary")], [_canary]) == [_accepted, _accepted]
}

# GEP-1897
test_a_port_of_a_foreign_protocol_is_refused if {
	mixed := testing.service("mixed", [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "web", "port": 80}])
	udp := testing.service("udp", [{"name": "dns", "port": 53, "protocol": "UDP"}])
	section := object.union(testing.service_ref("mixed"), {"sectionName": "dns"})
	kind := _gate_kind({"class": "Direct", "effectiveTarget": "Target"})
	_verdicts(_gate("shop", [section, testing.service_ref("mixed"), testing.service_ref("udp")]), [kind, mixed, udp]) == [
		["Invalid", "GatePolicy acts on ports for TCP and SCTP, but Service/shop/mixed#dns is for UDP only"],
		_accepted,
		["Invalid", "GatePolicy acts on ports for TCP and SCTP, but Service/shop/udp is for UDP only"],
	]
}

# F5
test_a_listener_that_shares_its_port_is_refused_where_policies_act_on_whole_ports if {
	kind := _gate_kind({"targets": [{"group": testing.gateway_group, "kind": "Gateway", "sections": true, "wholePorts": true}]})
	hosts := [object.union(testing.listener(name, 80), {"hostname": sprintf("%s.example.com", [name])}) | some name in ["one", "two"]]
	door := _door({"listeners": array.concat(hosts, [testing.listener("own", 8080)])})
	refs := [testing.section_ref("Gateway", "door", "one"), testing.section_ref("Gateway", "door", "own"), testing.ref("Gateway", "door")]
	_verdicts(_gate("shop", refs), [kind, door]) == [
		["Invalid", "GatePolicy acts on whole ports, but Gateway/shop/door#one shares a port with Gateway/shop/door#two"],
		_accepted,
		_accepted,
	]
}

# T8
test_a_policy_of_the_root_namespace_needs_no_grant if {
	kind := _gate_kind({"rootNamespace": "root"})
	far := [testing.far_ref("HTTPRoute", "shop", "cart")]
	_verdicts(_gate("root", far), [kind]) == [_accepted]
	_verdicts(_gate("infra", far), [kind]) == [["TargetNotFound", "Target HTTPRoute/shop/cart is not found, or no ReferenceGrant lets this policy name it"]]
}

# T6
test_a_policy_above_a_bound_has_one_verdict if {
	[[reason, message]] := _verdicts(_color([testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "cart")]), []) with data.bridge_settings.bounds as {"targetRefs": 1}
	reason == "Invalid"
	endswith(message, "targetRefs; at most 1 are allowed")
}

# A kind whose policies select Services by a field, or everything in their namespace without it.
_field_kind(fields) := testing.policykind(object.union(
	{
		"group": "example.com",
		"kind": "FieldPolicy",
		"class": "Direct",
		"targets": [{"group": "", "kind": "Service"}],
		"selectors": [{"path": "/spec/selector", "by": "Workloads", "namespaceDefault": true, "targets": [{"group": "", "kind": "Service"}]}],
		"specPaths": [{"path": "/spec", "without": ["selector"]}],
		"sameLevel": "OldestWins",
		"defaultStrategy": "PatchDefaults",
	},
	fields,
))

_field(name, minute, spec) := testing.created(testing.with_spec(testing.resource("example.com/v1", "FieldPolicy", "shop", name), spec), minute)

_till := testing.with_spec(testing.resource("v1", "Service", "shop", "till"), {"selector": {"app": "till"}, "ports": [{"port": 80}]})

_of_till := {"selector": {"matchLabels": {"app": "till"}}}

# T8
test_a_policy_with_a_field_that_selects_unknown_objects_is_accepted if {
	_verdicts(_field("one", 1, {"selector": {"matchLabels": {"app": "none"}}}), [_field_kind({}), _till]) == [_accepted]
	_verdicts(_field("one", 1, _of_till), [_field_kind({}), _till]) == [_accepted]
}

# T8
test_of_two_policies_for_a_whole_namespace_the_older_counts if {
	others := [_field_kind({}), _till, _field("narrow", 0, _of_till)]
	old := _field("old", 1, {"rate": 1})
	young := _field("young", 2, {"rate": 2})
	_verdicts(young, array.concat(others, [old])) == [[
		"Conflicted",
		"The older FieldPolicy/shop/old already selects everything in namespace shop",
	]]
	_verdicts(old, array.concat(others, [young])) == [_accepted]
}

# F5
test_where_all_conflict_none_of_several_policies_has_the_target if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "SolePolicy",
		"class": "Direct",
		"sameLevel": "ConflictOfAll",
		"targets": [{"group": "", "kind": "Service"}],
	})
	sole := {name: testing.created(testing.with_spec(testing.resource("example.com/v1", "SolePolicy", "shop", name), {"targetRefs": [_cart_ref], "a": 1}), 1) | some name in ["a", "b"]}
	message := "Service/shop/cart has several policies of kind SolePolicy, so none of them applies there"
	_verdicts(sole.a, [kind]) == [_accepted]
	_verdicts(sole.a, [kind, sole.b]) == [["Conflicted", message]]
	_verdicts(sole.b, [kind, sole.a]) == [["Conflicted", message]]
}

_accepts_all(policy, kind) := found if {
	key := concat("/", ["example.com", policy.kind, policy.metadata.namespace, policy.metadata.name])
	found := attachment.accepts_all(key) with input as testing.changed([kind, policy, _till])
}

# T8
test_all_that_a_field_selects_is_accepted_unless_something_else_may_refuse_it if {
	without_default := [object.remove(selector, ["namespaceDefault"]) | some selector in _field_kind({}).spec.selectors]
	_accepts_all(_field("one", 1, _of_till), _field_kind({"selectors": without_default}))
	not _accepts_all(_field("one", 1, _of_till), _field_kind({"selectors": without_default, "sameLevel": "Conflict", "defaultStrategy": "None"}))
	not _accepts_all(_field("one", 1, _of_till), _field_kind({}))
	not _accepts_all(_gate("shop", []), _gate_kind({}))
}

# P8
test_policies_below_a_gateway_of_another_controller_are_reported_as_ignored if {
	kind := _gate_kind({"controllers": ["acme.io/first"], "targets": [{"group": testing.gateway_group, "kind": "HTTPRoute"}]})
	route := testing.route("inside", [{"name": "door"}], [{"name": "all"}])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/inside"
	refused := attachment.rejections("example.com/GatePolicy", concat("#", [key, "all"])) with input as testing.changed([
		kind,
		_class("acme.io/third"),
		_door({}),
		route,
		_gate("shop", [testing.ref("HTTPRoute", "inside")]),
	])
	message := "The controller of GatewayClass/guarded is not acme.io/first, so policies of GatePolicy are ignored below it"
	refused == {_reported("example.com/GatePolicy/shop/gate", key, "OtherController", message)}
}

# T6
test_a_policy_above_a_bound_is_reported_where_it_would_count if {
	wide := _color([testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "cart")])
	refused := attachment.rejections("example.com/ColorPolicy", testing.cart_pay) with input as testing.changed([wide])
		with data.bridge_settings.bounds as {"targetRefs": 1}
	some rejection in refused
	object.filter(rejection, ["policy", "target", "reason"]) == {"policy": _warm_key, "target": testing.cart_route, "reason": "Invalid"}
}
