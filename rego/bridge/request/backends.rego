package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The backends of a rule, in order: `{backend, target, port, weight, filters, problem}`, null for missing values.
#   `target` is the port's node if the backend has such a port for the route's protocol; `problem` is the reason why
#   requests fail there. `backend` and `target` are null if the ref names an object that cannot exist.
backends(route_key, position) := [object.union(
	{
		"port": object.get(ref, "port", null),
		"weight": object.get(ref, "weight", 1),
		"filters": object.get(ref, "filters", []),
	},
	_destination(route_key, ref, sprintf("backendRefs[%v]", [place])),
) |
	some place, ref in lookup.get(route_key).spec.rules[position].backendRefs
]

# METADATA
# description: |
#   The backends of the filters of a rule and of its backends: `{filter, place, backend, target, port, problem}`, where
#   `filter` is its type and `place` its place in the rule. The rest is as in `backends`.
filter_backends(route_key, position) := [object.union(
	{"filter": filter.type, "place": place, "port": object.get(ref, "port", null)},
	_destination(route_key, ref, place),
) |
	some [place, filter] in _filters_in(lookup.get(route_key).spec.rules[position])
	ref := index.filter_ref(filter)
]

_filters_in(rule) := array.concat(
	[[sprintf("filters[%v]", [place]), filter] | some place, filter in rule.filters],
	[[sprintf("backendRefs[%v].filters[%v]", [number, place]), filter] |
		some number, ref in rule.backendRefs
		some place, filter in ref.filters
	],
)

_destination(route_key, ref, place) := {
	"backend": key,
	"target": _target(keys.type_of(route_key), key, object.get(ref, "port", 0)),
	"problem": hierarchy.rejected_backend(route_key, key, object.get(ref, "port", 0)),
} if {
	key := index.backend_key(ref, keys.parse(route_key).namespace)
} else := {"backend": null, "target": null, "problem": {"reason": "BackendNotFound", "message": message}} if {
	message := sprintf("%s names an object that cannot exist", [place])
}

_target(type, key, port) := hierarchy.port_node(type, key, port) if {
	startswith(key, "core/Service/")
} else := key

# METADATA
# description: |
#   Why every request to a rule fails, `{status, message}`, null if a request may succeed: the rule has no backend that
#   accepts requests, and no filter that responds itself (HTTPRouteRule.backendRefs).
failure(rule_object, destinations) := null if {
	some destination in destinations
	destination.problem == null
	destination.weight != 0
} else := null if {
	some filter in rule_object.filters
	filter.type == "RequestRedirect"
} else := {"status": _failing_status, "message": "the rule has no backends, and no filter that answers requests"} if {
	count(destinations) == 0
} else := {"status": _failing_status, "message": "no backend of the rule gets requests: each has the weight 0, or fails"}

# The result for a client: HTTP's status, gRPC's, or no connection.
_failing_status := {"HTTP": "500", "GRPC": "UNAVAILABLE"}[request.protocol] if {
	true
} else := "connection refused"

# METADATA
# description: |
#   The nodes that requests to a rule may reach: each existing backend and its port.
reachable_backends(candidate) := [node |
	some position, backend in candidate
	backend.problem == null
	some place, node in [backend.backend, backend.target]
	not node in array.slice([backend.backend], 0, place)
	not node in {other | some earlier in array.slice(candidate, 0, position); some other in [earlier.backend, earlier.target]}
]

# METADATA
# description: A rule, as in its route.
rule_at(route_key, position) := lookup.get(route_key).spec.rules[position]

# METADATA
# description: |
#   The filters of a request, in order: those of the listener, which run before a route is selected (GEP-5224), then
#   those of the rule.
filters(entry, route_key, index) := array.concat(listener_filters(entry), _rule_filters(route_key, index))

_rule_filters(route_key, index) := found if {
	found := rule_at(route_key, index).filters
} else := []

# METADATA
# description: |
#   The filters that an HTTP or HTTPS listener runs before a route is selected (Gateway API, ListenerFilters).
listener_filters(entry) := [filter |
	listener(entry).protocol in {"HTTP", "HTTPS"}
	some filter in listener(entry).filters.requests
]
