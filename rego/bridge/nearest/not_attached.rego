package bridge.nearest

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.request as requests

_most_routes := 5

# The routes with the request's hostname that nothing accepts, as candidates in the form of `nearest`: no listener shows
# them, although the author of a request probably means one.
not_attached_routes := [object.union({"node": route}, _detachment(route)) | some route in array.slice(sort(_not_attached), 0, _most_routes)]

_detachment(route) := {"reason": "CannotTell", "message": sprintf("may be attached: you can't read %s", [concat(", ", unread)])} if {
	unread := sort({keys.describe(parent) | some parent in hierarchy.unread_parents(route)})
	unread != []
} else := {"reason": "NotAttached", "message": message} if {
	message := sprintf("is not attached: %s", [concat("; ", hierarchy.not_attached([route]))])
}

_not_attached := {route |
	some kind in ["HTTPRoute", "GRPCRoute", "TLSRoute"]
	some route in lookup.keys_of(concat("/", [keys.gateway_api, kind]))
	hostnames := {lower(name) | some name in lookup.get(route).spec.hostnames}
	some name in requests.covering_hostnames(requests.request.host)
	name in hostnames
	hierarchy.not_attached([route])
}

# The nearest nodes with these routes before the others.
with_not_attached(near) := object.union(near, {"candidates": array.concat(more, near.candidates)}) if {
	named := {one.node | some one in near.candidates}
	more := [one | some one in not_attached_routes; not one.node in named]
}
