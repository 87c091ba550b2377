# The tests of an extension stand in a package of their own, because all of `bridge.extensions.hierarchy` is extensions.
package examples.external_service_test

import data.bridge.hierarchy
import data.bridge.v1

_gateway := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "Gateway",
	"metadata": {"name": "public", "namespace": "infra", "annotations": {"networking.acme.io/edge": "north"}},
	"spec": {"gatewayClassName": "none", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
}

_edge := {"apiVersion": "networking.acme.io/v1", "kind": "Edge", "metadata": {"name": "north", "namespace": "infra"}}

_route := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "HTTPRoute",
	"metadata": {"name": "shop", "namespace": "infra"},
	"spec": {
		"parentRefs": [{"name": "public"}],
		"rules": [{"backendRefs": [{"group": "networking.acme.io", "kind": "ExternalService", "name": "payments"}]}],
	},
}

_payments := "networking.acme.io/ExternalService/infra/payments"

_north := "networking.acme.io/Edge/infra/north"

_kind(name, fields) := {
	"apiVersion": "policybridge.io/v1alpha1",
	"kind": "PolicyKind",
	"metadata": {"name": name},
	"spec": object.union({"group": "networking.acme.io", "kind": name}, fields),
}

_policy(kind, name, ref, spec) := {
	"apiVersion": "networking.acme.io/v1",
	"kind": kind,
	"metadata": {"name": name, "namespace": "infra"},
	"spec": object.union({"targetRefs": [object.union({"group": "networking.acme.io"}, ref)]}, spec),
}

_input(objects) := {"changes": {"upsert": array.concat([_gateway, _route, _edge], objects)}}

test_an_edge_is_above_its_gateways_and_an_external_service_is_below_the_routes if {
	paths := hierarchy.paths(_payments, false) with input as _input([])
	paths == {[
		_north,
		"gateway.networking.k8s.io/Gateway/infra/public",
		"gateway.networking.k8s.io/Gateway/infra/public#http",
		"gateway.networking.k8s.io/HTTPRoute/infra/shop",
		"gateway.networking.k8s.io/HTTPRoute/infra/shop#[0]",
		_payments,
	]}
}

test_an_edge_that_does_not_exist_is_left_out if {
	paths := hierarchy.paths(_payments, false) with input as {"changes": {"upsert": [_gateway, _route]}}
	{path[0] | some path in paths} == {"gateway.networking.k8s.io/Gateway/infra/public"}
	links := hierarchy.rejected_links(_payments) with input as {"changes": {"upsert": [_gateway, _route]}}
	["ParentNotFound", "Edge/infra/north does not exist"] in [[link.reason, link.message] | some link in links]
}

test_policies_of_an_edge_and_of_an_external_service_meet if {
	kind := _kind("Quota", {"effectiveTarget": "Backend"})
	high := _policy("Quota", "high", {"kind": "Edge", "name": "north"}, {"rate": 1, "burst": 2, "strategy": "PatchDefaults"})
	low := _policy("Quota", "low", {"kind": "ExternalService", "name": "payments"}, {"rate": 3})
	described := object.union(kind, {"spec": {"defaultStrategy": "PatchDefaults"}})
	query_input := object.union(_input([described, high, low]), {"targets": [_north], "policyKind": "networking.acme.io/Quota"})
	entries := v1.effective with input as query_input
	[[entry.target, entry.paths[0].spec.rate] | some entry in entries] == [[_payments, 3]]
}

test_a_direct_policy_holds_at_an_external_service_that_nothing_names if {
	kind := _kind("Credentials", {"class": "Direct"})
	policy := _policy("Credentials", "bank", {"kind": "ExternalService", "name": "bank"}, {"secret": "bank"})
	query_input := object.union(_input([kind, policy]), {"targets": ["networking.acme.io/ExternalService/infra/bank"]})
	entries := v1.effective with input as query_input
	[entry.paths[0].spec | some entry in entries] == [{"secret": "bank"}]
}

test_the_extension_has_no_problems if {
	problems := v1.extension_problems with input as {"objects": [_gateway, _route, _edge]}
	problems == []
}
