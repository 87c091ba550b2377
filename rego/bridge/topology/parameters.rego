package bridge.topology

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The object that a GatewayClass or Gateway takes its parameters from (Gateway API, GatewayClassSpec.parametersRef and
#   GatewayInfrastructure.parametersRef), whether it exists or not. It is not a part of the hierarchy: no policy acts through this
#   link. `level` is that of the key. Undefined for other levels, and where there is none.
parameters_at("GatewayClass", key) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	ref := lookup.get(key).spec.parametersRef
}

parameters_at("Gateway", key) := keys.named(ref.group, ref.kind, split(key, "/")[2], ref.name) if {
	ref := lookup.get(key).spec.infrastructure.parametersRef
}
