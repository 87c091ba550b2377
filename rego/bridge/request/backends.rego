package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   Where a rule sends requests, in its order: `{backend, target, port, weight, filters, problem}`, null for what is not
#   there. `target` is the port's node where the backend has such a one; `problem` says why requests fail there. `backend` and
#   `target` are null where the ref names an object that cannot exist.
backends(route_key, position) := [object.union(
	{
		"port": object.get(ref, "port", null),
		"weight": object.get(ref, "weight", 1),
		"filters": object.get(ref, "filters", []),
	},
	_destination(route_key, ref, place),
) |
	some place, ref in lookup.get(route_key).spec.rules[position].backendRefs
]

_destination(route_key, ref, place) := {
	"backend": key,
	"target": _target(key, object.get(ref, "port", 0)),
	"problem": hierarchy.rejected_backend(route_key, key),
} if {
	key := index.backend_key(ref, keys.parse(route_key).namespace)
} else := {"backend": null, "target": null, "problem": {"reason": "BackendNotFound", "message": message}} if {
	message := sprintf("backendRefs[%d] names an object that cannot exist", [place])
}

_target(key, port) := hierarchy.canonical_key(keys.section(key, sprintf("%d", [port]))) if {
	hierarchy.is_port(keys.section(key, sprintf("%d", [port])))
} else := key

# METADATA
# description: |
#   The nodes that requests may reach behind a rule, each backend that is there and its port.
reachable_backends(candidate) := [node |
	some position, backend in candidate
	backend.problem == null
	some place, node in [backend.backend, backend.target]
	not node in array.slice([backend.backend], 0, place)
	not node in {other | some earlier in array.slice(candidate, 0, position); some other in [earlier.backend, earlier.target]}
]

# METADATA
# description: The filters of a rule, as its route writes them.
filters(route_key, position) := found if {
	found := lookup.get(route_key).spec.rules[position].filters
} else := []
