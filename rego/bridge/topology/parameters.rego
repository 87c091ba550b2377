package bridge.topology

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The object that a GatewayClass or Gateway takes its parameters from (Gateway API, GatewayClassSpec.parametersRef and
#   GatewayInfrastructure.parametersRef), whether it exists or not. It is not a part of the hierarchy: no policy acts through this
#   link. Undefined for other nodes, and where there is none.
parameters(key) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	levels.of(key) == "GatewayClass"
	ref := lookup.get(key).spec.parametersRef
} else := keys.named(ref.group, ref.kind, keys.parse(key).namespace, ref.name) if {
	levels.of(key) == "Gateway"
	ref := lookup.get(key).spec.infrastructure.parametersRef
}
