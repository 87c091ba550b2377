package bridge.topology_test

import data.bridge.lib.levels
import data.bridge.testing
import data.bridge.topology

_class_with(ref) := testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "tuned"), {
	"controllerName": "example.com/gateway",
	"parametersRef": ref,
})

_gateway_with(ref) := object.union(testing.gateway("tuned", []), {"spec": {"infrastructure": {"parametersRef": ref}}})

_parameters(key, objects) := found if {
	found := topology.parameters_at(levels.of(key), key) with input as testing.changed(objects)
}

test_a_gatewayclass_and_a_gateway_have_parameters if {
	class_key := "gateway.networking.k8s.io/GatewayClass/-/tuned"
	gateway_key := "gateway.networking.k8s.io/Gateway/infra/tuned"
	cluster_scoped := {"group": "acme.io", "kind": "Tuning", "name": "big"}
	_parameters(class_key, [_class_with(cluster_scoped)]) == "acme.io/Tuning/-/big"
	_parameters(class_key, [_class_with(object.union(cluster_scoped, {"namespace": "infra"}))]) == "acme.io/Tuning/infra/big"
	_parameters(gateway_key, [_gateway_with({"group": "", "kind": "ConfigMap", "name": "big"})]) == "core/ConfigMap/infra/big"
}

test_a_node_of_the_tree_and_of_the_picture_has_its_parameters if {
	gateway := _gateway_with({"group": "", "kind": "ConfigMap", "name": "big"})
	key := "gateway.networking.k8s.io/Gateway/infra/tuned"
	_node([gateway], key).parameters == "core/ConfigMap/infra/big"
	entry := topology.entry(key) with input as testing.changed([gateway])
	entry.nodes[key].parameters == "core/ConfigMap/infra/big"
}

test_parameters_that_cannot_exist_are_left_out if {
	every ref in [{}, {"group": "", "kind": "ConfigMap", "name": "../big"}, {"group": "", "kind": 5, "name": "big"}, "big"] {
		not _has_parameters(ref)
	}
}

_has_parameters(ref) if _parameters("gateway.networking.k8s.io/Gateway/infra/tuned", [_gateway_with(ref)])
