package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.levels

# METADATA
# description: |
#   The links that an object itself declares and that do not count, in the form of `rejected_links`: those to its
#   parents, for a route also those to its backends, for a Gateway or ListenerSet those to its listeners.
rejected_by(object_key) := {object.union(link, {"message": message}) |
	some link in rejections_by(object_key)
	message := rejection_message(link)
}

# METADATA
# description: The same without messages.
rejections_by(object_key) := {link |
	some link in union({rejections(object_key), _refused_backends(object_key), conflicted_listeners(object_key)})
	link.reason != ""
}

_refused_backends(route_key) := {link |
	levels.of(route_key) == "Route"
	some backend in index.declared_children(route_key)
	levels.of(backend) == "Backend"
	some link in rejected_backends(route_key, backend)
}
