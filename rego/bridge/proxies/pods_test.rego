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

test_pods_of_envoy_gateway_are_in_any_namespace if {
	found := _pods_of("gateway.envoyproxy.io/gatewayclass-controller")
	found.port == 19000
	found.selections == [
		{"labels": {"gateway.envoyproxy.io/owning-gateway-name": "edge", "gateway.envoyproxy.io/owning-gateway-namespace": "infra"}},
		{"labels": {"gateway.envoyproxy.io/owning-gatewayclass": "own"}},
	]
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

test_gateways_above_nodes_are_those_of_their_paths if {
	input_of := testing.changed([object.union(testing.gateway("edge", []), {"spec": {"gatewayClassName": "own", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}})])
	proxies.gateways_above([sprintf("%s#http", [_edge])]) == {_edge} with input as input_of
	count(proxies.gateways_above([])) > 1 with input as input_of
}
