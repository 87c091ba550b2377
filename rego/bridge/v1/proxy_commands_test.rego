package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_class(name, controller) := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "GatewayClass",
	"metadata": {"name": name},
	"spec": {"controllerName": controller},
}

_gateway_of(name, class) := object.union(testing.gateway(name, []), {"spec": {"gatewayClassName": class}})

_edge := "gateway.networking.k8s.io/Gateway/infra/edge"

_command_of(controller) := commands[_edge] if {
	changed := [_class("own", controller), _gateway_of("edge", "own")]
	commands := v1.proxy_commands with input as {"gateways": [_edge], "changes": {"upsert": changed}}
}

test_proxy_command_names_the_gateway if {
	_command_of("istio.io/gateway-controller") == "istioctl proxy-config routes deploy/edge-own -n infra"
	contains(_command_of("gateway.envoyproxy.io/gatewayclass-controller"), "owning-gateway-name=edge ")
}

test_gateway_of_another_implementation_has_no_proxy_command if {
	not _command_of("example.com/controller")
}

test_proxy_commands_without_gateways_are_an_input_error if {
	v1.proxy_commands.error with input as {}
}
