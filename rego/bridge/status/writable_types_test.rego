package bridge.status_test

import data.bridge.status
import data.bridge.testing

_gateway_api_type(kind) := sprintf("gateway.networking.k8s.io/%s", [kind])

_replicated := {"core/Namespace", "core/Service", "apiextensions.k8s.io/CustomResourceDefinition", "policybridge.io/PolicyKind"} | {type |
	some kind in ["GatewayClass", "Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "ReferenceGrant"]
	type := _gateway_api_type(kind)
}

_written(described, more) := found if {
	found := status.writable_types(_replicated | more) with input as {"changes": {"upsert": described}}
}

_acme(fields) := testing.policykind(object.union(
	{"group": "acme.io", "kind": "AcmePolicy", "class": "Direct", "mode": "Manage", "controllerName": "acme.io/c"},
	fields,
))

test_a_kind_that_is_only_observed_writes_nowhere if {
	_written([_acme({"mode": "Observe"})], set()) == {"status": [], "annotations": []}
}

test_policies_their_targets_and_parents_of_effective_targets_are_written_to if {
	described := testing.policykind(object.union(testing.color_kind, {"effectiveTarget": "Listener"}))
	_written([described], set()).status == [
		"example.com/ColorPolicy",
		_gateway_api_type("Gateway"),
		_gateway_api_type("GatewayClass"),
		_gateway_api_type("HTTPRoute"),
	]
}

test_what_is_not_replicated_is_never_written_to if {
	described := _acme({"targets": [{"group": "acme.io", "kind": "Bucket"}]})
	_written([described], set()) == {"status": ["acme.io/AcmePolicy"], "annotations": []}
	_written([described], {"acme.io/Bucket"}) == {"status": ["acme.io/AcmePolicy"], "annotations": ["acme.io/Bucket"]}
}

test_a_kind_that_lists_no_targets_writes_to_the_hierarchy_and_to_what_the_settings_name if {
	found := _written([_acme({})], {"apps/Deployment"})
	found.annotations == ["apps/Deployment"]
	{"core/Namespace", "core/Service", _gateway_api_type("TLSRoute")} - {type | some type in found.status} == set()
	not _gateway_api_type("ReferenceGrant") in found.status
	not "apiextensions.k8s.io/CustomResourceDefinition" in found.status
}

test_backends_of_other_kinds_are_written_to_where_the_settings_name_them if {
	described := _acme({"class": "Inherited", "effectiveTarget": "Backend", "targets": [{
		"group": testing.gateway_group,
		"kind": "Gateway",
	}]})
	found := _written([described], {"acme.io/Bucket"})
	found == {"status": ["acme.io/AcmePolicy", "core/Service", _gateway_api_type("Gateway")], "annotations": ["acme.io/Bucket"]}
}

test_only_kinds_that_count_at_the_effective_level_are_written_to if {
	described := _acme({"class": "Inherited", "effectiveTarget": "Rule", "targets": [
		{"group": testing.gateway_group, "kind": "Gateway"},
		{"group": testing.gateway_group, "kind": "GRPCRoute"},
	]})
	_written([described], set()).status == [
		"acme.io/AcmePolicy",
		_gateway_api_type("GRPCRoute"),
		_gateway_api_type("Gateway"),
	]
}
