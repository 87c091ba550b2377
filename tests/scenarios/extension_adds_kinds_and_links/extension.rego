package bridge.extensions.hierarchy.adds_kinds_and_links

import data.bridge.lib.keys

levels := {
	"extension-adds-kinds-and-links.example.com/Edge": {"object": "Edge"},
	"extension-adds-kinds-and-links.example.com/ExternalService": {"object": "Backend"},
}

virtual contains "extension-adds-kinds-and-links.example.com/ExternalService"

links contains [edge, keys.of(input.object)] if {
	input.object.kind == "Gateway"
	name := input.object.metadata.annotations["extension-adds-kinds-and-links.example.com/edge"]
	edge := keys.format("extension-adds-kinds-and-links.example.com", "Edge", input.object.metadata.namespace, name)
}
