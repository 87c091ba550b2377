package bridge.extensions.hierarchy.cycle_is_cut

import data.bridge.lib.keys

levels := {"cycle-of-an-extension-is-cut.example.com/Zone": {"object": "Zone"}}

links contains [zone, keys.of(input.object)] if {
	annotation := input.object.metadata.annotations["cycle-of-an-extension-is-cut.example.com/in"]
	some name in split(annotation, ",")
	zone := keys.format("cycle-of-an-extension-is-cut.example.com", "Zone", input.object.metadata.namespace, name)
}
