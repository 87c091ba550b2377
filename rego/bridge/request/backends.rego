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
#   Why every request to a rule of a route fails, `{status, message}`, null if a request may succeed: the rule has no
#   backend that accepts requests, and no filter that responds itself (HTTPRouteRule.backendRefs) or may do so.
failure(route_key, rule_object, destinations) := null if {
	some destination in destinations
	destination.problem == null
	destination.weight != 0
} else := null if {
	some filter in rule_object.filters
	filter.type in {"RequestRedirect", "ExtensionRef"}
} else := {"status": status, "message": "the rule has no backends, and no filter that answers requests"} if {
	status := _status(keys.type_of(route_key), "500", "UNAVAILABLE")
	count(destinations) == 0
} else := {"status": status, "message": message} if {
	status := _status(keys.type_of(route_key), "500", "UNAVAILABLE")
	message := "no backend of the rule gets requests: each has the weight 0, or fails"
}

# METADATA
# description: |
#   The answer to a request that no rule serves at an entry point, `{status, message}` (HTTPRouteSpec.rules). null for a
#   frontend without such routes, because its requests go to its Service.
unserved(entry) := null if {
	keys.is_frontend(entry)
	nearest.reached != "Route"
} else := {"status": _status(types(entry)[0], "404", "UNIMPLEMENTED"), "message": "no rule matches"}

# The result for a client at routes of a type: HTTP's status, gRPC's, or no connection.
_status(type, http, grpc) := grpc if {
	request.protocol == "GRPC"
	type in {"gateway.networking.k8s.io/GRPCRoute", "gateway.networking.k8s.io/HTTPRoute"}
} else := http if {
	type == "gateway.networking.k8s.io/HTTPRoute"
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
