package bridge.proxies_test

import data.bridge.proxies
import data.bridge.testing

_edge := "gateway.networking.k8s.io/Gateway/infra/edge"

_class_of(controller) := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "GatewayClass",
	"metadata": {"name": "own"},
	"spec": {"controllerName": controller},
}

_pods_of(controller) := found if {
	gateway := object.union(testing.gateway("edge", []), {"spec": {"gatewayClassName": "own"}})
	[found] := [about |
		some about in proxies.pods with input as testing.changed([_class_of(controller), gateway])
		about.gateway == _edge
	]
}

test_pods_of_envoy_gateway_are_in_the_namespace_of_the_controller_or_of_the_gateway if {
	found := _pods_of("gateway.envoyproxy.io/gatewayclass-controller")
	found.port == 19000
	owned := {"gateway.envoyproxy.io/owning-gateway-name": "edge", "gateway.envoyproxy.io/owning-gateway-namespace": "infra"}
	found.selections == [
		{"namespace": "envoy-gateway-system", "labels": owned},
		{"namespace": "envoy-gateway-system", "labels": {"gateway.envoyproxy.io/owning-gatewayclass": "own"}},
		{"namespace": "infra", "labels": owned},
	]
}

test_namespace_of_the_controller_can_be_chosen if {
	gateway := object.union(testing.gateway("edge", []), {"spec": {"gatewayClassName": "own"}})
	chosen := object.union(testing.changed([_class_of("gateway.envoyproxy.io/gatewayclass-controller"), gateway]), {"controllerNamespace": "proxies"})
	found := {one.namespace | some about in proxies.pods with input as chosen; about.gateway == _edge; some one in about.selections}
	found == {"proxies", "infra"}
}

test_pods_of_istio_and_kgateway_are_in_the_namespace_of_the_gateway if {
	selections := [{"namespace": "infra", "labels": {"gateway.networking.k8s.io/gateway-name": "edge"}}]
	[one.port | one := _pods_of("istio.io/gateway-controller"); one.selections == selections] == [15000]
	[one.port | one := _pods_of("kgateway.dev/kgateway"); one.selections == selections] == [19000]
}

test_pods_of_other_implementations_are_not_known if {
	_pods_of("example.com/controller").selections == []
}

test_pods_of_an_extension_are_those_of_its_vendor if {
	acme := {"vendor": {"name": "Acme", "targets": [], "fields": {}, "pods": {"acme.example.com/gateway": {"port": 9901, "selections": [{"labels": {"app": "{name}-proxy"}}]}}}}
	found := _pods_of("acme.example.com/gateway") with data.bridge.extensions.proxies.acme as acme
	[found.port, found.selections] == [9901, [{"labels": {"app": "edge-proxy"}}]]
}

_gateways_of(asked) := {about.gateway |
	listeners := [{"name": "http", "port": 80, "protocol": "HTTP"}]
	gateway := object.union(testing.gateway("edge", []), {"spec": {"gatewayClassName": "own", "listeners": listeners}})
	some about in proxies.pods with input as object.union(testing.changed([gateway]), asked)
}

test_gateways_above_nodes_are_those_of_their_paths if {
	_gateways_of({"nodes": [sprintf("%s#http", [_edge])]}) == {_edge}
}

test_nodes_without_a_gateway_above_them_have_no_proxies if {
	_gateways_of({"nodes": ["core/Service/alone/service"]}) == set()
	_gateways_of({"nodes": []}) == set()
}

test_gateways_are_all_without_nodes if {
	count(_gateways_of({})) > 1
}
