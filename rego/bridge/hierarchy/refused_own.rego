package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.levels

# METADATA
# description: |
#   The links that an object itself declares and that do not count, as `refused_links` tells them: those to what it puts
#   above itself, and of a route also those to its backends.
refused_by(object_key) := {object.union(link, {"message": message}) |
	some link in refusals_by(object_key)
	message := _refusal_message(link)
}

# METADATA
# description: The same without their messages.
refusals_by(object_key) := {link |
	some link in (_refused(object_key) | _refused_backends(object_key))
	link.reason != ""
}

_refused_backends(route_key) := {_refusal_of(route_key, backend, _backend_refusal(route_key, backend)) |
	levels.of(route_key) == "Route"
	some backend in index.declared_children(route_key)
	levels.of(backend) == "Backend"
}
