package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The parentRefs of a route, as in its spec, that select the node `above` it; all of them if there is none ("": a path
#   that begins at the route).
parent_refs(route_key, above) := {ref | some ref in written_and_default_refs(route_key)} if {
	above == ""
} else := {ref |
	parts := keys.parse(above)
	namespace := keys.parse(route_key).namespace
	some ref in written_and_default_refs(route_key)
	index.parent_key(ref, namespace) == parts.object
	object.get(ref, "sectionName", "") in {"", parts.section}
	_has_port(above, object.get(ref, "port", 0))
}

# METADATA
# description: |
#   The parentRefs of a route as in its spec, and one for each default Gateway that it uses without naming it, as in
#   status.parents (GEP-3793).
written_and_default_refs(route_key) := array.concat(written, [default_ref(gateway) |
	lookup.get(route_key).spec.useDefaultGateways == "All"
	named := {index.parent_key(ref, keys.parse(route_key).namespace) | some ref in written}
	some gateway in sort(index.default_gateways - named)
]) if {
	written := [ref | some ref in lookup.get(route_key).spec.parentRefs]
}

# METADATA
# description: The parentRef for a default Gateway.
default_ref(gateway) := {"group": parts.group, "kind": parts.kind, "namespace": parts.namespace, "name": parts.name} if {
	parts := keys.parse(gateway)
}

# METADATA
# description: A listener has a port that a parentRef names.
has_port(above, port) if _has_port(above, port)

_has_port(_, 0)

_has_port(above, port) if {
	port != 0
	parts := keys.parse(above)
	some listener in listeners(parts.object)
	listener.name == parts.section
	listener.port == port
}
