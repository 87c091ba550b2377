package bridge.proxies

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The Pods that are the proxies of each Gateway above `nodes`, of all Gateways without `nodes`: `{gateway, port,
#   selections}`, the port of Envoy's admin interface and `{namespace, labels}`, without `namespace` in all. `selections` is empty if no
#   rules know the controller of the Gateway's class. `controllerNamespace` is that of controllers that have proxies in theirs.
pods := [_pods_of(gateway) | some gateway in _asked]

_asked := found if {
	input.nodes
	found := {gateway |
		some node in input.nodes
		some above in hierarchy.nodes_above(node)
		gateway := keys.object_of(above)
		keys.type_of(gateway) == _gateway
	}
} else := {gateway | some gateway in lookup.keys_of(_gateway)}

_gateway := concat("/", [keys.gateway_api, "Gateway"])

_pods_of(gateway) := {"gateway": gateway, "port": about.port, "selections": selections} if {
	class := lookup.get(index.facts(gateway).class[0])
	about := [pods | some vendor in described; pods := vendor.pods[class.spec.controllerName]][0]
	parts := keys.parse(gateway)
	names := {
		"{name}": parts.name,
		"{namespace}": parts.namespace,
		"{class}": class.metadata.name,
		"{controller}": object.get(input, "controllerNamespace", object.get(about, "controllerNamespace", parts.namespace)),
	}
	selections := [_with_names(selection, names) | some selection in about.selections]
} else := {"gateway": gateway, "port": 0, "selections": []}

_with_names(selection, names) := object.union(
	{"labels": {label: strings.replace_n(names, value) | some label, value in selection.labels}},
	{"namespace": strings.replace_n(names, value) | value := selection.namespace},
)
