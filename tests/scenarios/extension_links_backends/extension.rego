package bridge.extensions.hierarchy.links_backends

import data.bridge.lib.keys

levels := {"extension-links-backends.example.com/Bucket": {"object": "Backend"}}

links contains [service, keys.of(input.object)] if {
	input.object.kind == "Bucket"
	name := input.object.metadata.annotations["extension-links-backends.example.com/service"]
	service := keys.format("", "Service", input.object.metadata.namespace, name)
}
