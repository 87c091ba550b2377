# METADATA
# title: ExternalService
# description: |
#   A worked example of an extension of the hierarchy. `networking.acme.io/ExternalService` is a kind that no API server
#   knows: an HTTPRoute names one in backendRefs, and a policy may target it. An `Edge`, which does exist, is above
#   the Gateways that name it by an annotation. See docs/how-to/extend-the-hierarchy.md.
package bridge.extensions.hierarchy.external_service

import data.bridge.lib.keys

# Where the kinds stand: an ExternalService is what routes lead to, an Edge is above all levels of Gateway API.
levels := {
	"networking.acme.io/ExternalService": {"object": "Backend"},
	"networking.acme.io/Edge": {"object": "Edge"},
}

# Of an ExternalService any name exists.
virtual contains "networking.acme.io/ExternalService"

# A Gateway says by an annotation which Edge of its namespace it runs on.
links contains [edge, keys.of(input.object)] if {
	input.object.kind == "Gateway"
	name := input.object.metadata.annotations["networking.acme.io/edge"]
	edge := keys.format("networking.acme.io", "Edge", input.object.metadata.namespace, name)
}
