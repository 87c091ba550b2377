package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   A path counts for requests from a namespace ("": from any, so only paths that are the same for all). A path through
#   a frontend counts for the routes of the frontend's own namespace, the producer's, unless the source has a consumer
#   route for it; and for a consumer route of the source (Gateway API, ParentReference.namespace; semantics P6).
counts_for(path, source) if {
	every pair in _through_frontends(path) {
		_route_counts(pair[0], pair[1], source)
	}
}

# METADATA
# description: The namespaces that have a consumer route on a path.
consumers(path) := {namespace |
	some [frontend_node, route_key] in _through_frontends(path)
	namespace := keys.parse(route_key).namespace
	namespace != keys.parse(frontend_node).namespace
}

# METADATA
# description: The namespaces whose consumer routes replace a producer's route on a path, which does not count for them.
replacing_consumers(path) := {namespace |
	some [frontend_node, route_key] in _through_frontends(path)
	home := keys.parse(frontend_node).namespace
	keys.parse(route_key).namespace == home
	some namespace in ({keys.parse(child).namespace | some child in index.declared_children(frontend_node)} - {home})
	not _route_counts(frontend_node, route_key, namespace)
}

# The frontends of a path, each with the route below it; a Namespace may be between them.
_through_frontends(path) := {[node, route_key] |
	some position, node in path
	keys.is_frontend(node)
	route_key := [below | some below in array.slice(path, position + 1, position + 3); levels.of(below) == "Route"][0]
}

_route_counts(frontend_node, route_key, source) if count(mesh_ports(frontend_node, route_key, source)) > 0
