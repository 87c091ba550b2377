package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The names of the GatewayClasses that a path runs through. A Gateway belongs to the class that it names, whether that
#   exists (semantics P2) and is on the path or not.
classes(path) := {keys.parse(node).name |
	some node in path
	levels.of(node) == "GatewayClass"
} | {class |
	some node in path
	keys.parse(node).type == "gateway.networking.k8s.io/Gateway"
	class := lookup.get(keys.parse(node).object).spec.gatewayClassName
}
