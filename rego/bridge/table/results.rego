package bridge.table

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.scopes

# METADATA
# description: |
#   What happens to the requests that a rule of a route serves at an entry point, `{backends, filters, filterBackends,
#   failure}`. Filters of the listener run before a route is selected (GEP-5224).
results_of(node, route, index) := {
	"backends": to_backends,
	"filters": array.concat(filters_of_listener(node), object.get(rule, "filters", [])),
	"filterBackends": to_filter_backends,
	"failure": failure(rule, to_backends, to_filter_backends),
} if {
	rule := lookup.get(route).spec.rules[index]
	to_backends := _backends(route, index)
	to_filter_backends := _filter_backends(route, index)
}

# The backends of a rule, in order: `{backend, target, port, weight, filters, problem}`, null for missing values.
# `target` is the port's node if the backend has such a port for the route's protocol; `problem` is the reason why
# requests fail there. `backend` and `target` are null if the ref names an object that cannot exist.
_backends(route_key, position) := [object.union(
	{
		"port": object.get(ref, "port", null),
		"weight": object.get(ref, "weight", 1),
		"filters": object.get(ref, "filters", []),
	},
	_destination(route_key, ref, sprintf("backendRefs[%v]", [place])),
) |
	some place, ref in lookup.get(route_key).spec.rules[position].backendRefs
]

# The backends of the filters of a rule and of its backends: `{filter, place, backend, target, port, problem}`, where
# `filter` is its type and `place` its place in the rule. The rest is as in `_backends`.
_filter_backends(route_key, position) := [object.union(
	{"filter": filter.type, "place": place, "port": object.get(ref, "port", null)},
	_destination(route_key, ref, place),
) |
	some [place, filter] in index.placed_filters(lookup.get(route_key).spec.rules[position])
	ref := index.filter_ref(filter)
]

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

# Why every request to a rule fails, as a message, null if a request may succeed: a service that must authorize the request
# cannot (HTTPRouteFilter.externalAuth fails closed), or the rule has no backend that accepts requests, and no filter that
# responds itself (HTTPRouteRule.backendRefs) or may do so.
failure(rule, destinations, filter_destinations) := "the filter ExternalAuth has no backend, and fails closed" if {
	some place, _ in rule.filters
	_is_closed(filter_destinations, sprintf("filters[%d]", [place]))
} else := null if {
	some place, destination in destinations
	destination.problem == null
	destination.weight != 0
	every number, _ in object.get(destination, "filters", []) {
		not _is_closed(filter_destinations, sprintf("backendRefs[%d].filters[%d]", [place, number]))
	}
} else := null if {
	some filter in rule.filters
	filter.type in {"RequestRedirect", "ExtensionRef"}
} else := "the rule has no backends, and no filter that answers requests" if {
	destinations == []
} else := "no backend of the rule gets requests: each has the weight 0, or fails"

# The ExternalAuth filter at a place has a backend that fails.
_is_closed(filter_destinations, place) if {
	some destination in filter_destinations
	destination.place == place
	destination.filter == "ExternalAuth"
	destination.problem != null
}

# The nodes that requests to a rule may reach: each existing backend and its port.
reachable_backends(candidate) := [node | some place, node in nodes; not node in array.slice(nodes, 0, place)] if {
	nodes := [node | some backend in candidate; backend.problem == null; some node in [backend.backend, backend.target]]
}

# METADATA
# description: |
#   The effective policies of all kinds for the requests that a rule serves at an entry point, in the form of `effective`,
#   from the top down: at the nodes of the path to the rule, at the rule, and at the backends that requests reach
#   (`results_of`) and their ports. Only paths through the entry point, and through the rules that delegated the request, `way`,
#   count. These rules are no targets, as they serve no requests themselves.
policies(way, rule, results) := _policies(way, rule, reachable_backends(array.concat(results.backends, results.filterBackends)))

_policies(way, rule, reachable_backends) := [{"target": node, "policyKind": kind, "paths": paths} |
	nodes := array.concat(_nodes_to(way, rule), reachable_backends)
	some node in nodes
	not hierarchy.delegates(node)
	some kind in sort(kinds.in_use)
	scopes.acts_at(kind, node)
	scopes.is_counted(kind, node, nodes)
	paths := _policies_on(kind, _paths(kind, way, rule, node), object.get(input, "sourceNamespace", ""))
	count(paths) > 0
]

_policies_on(kind, paths, source) := effective.listed(effective.policies_on(kind, paths, source), hierarchy.counted_paths(kind, paths), source) if {
	input.allPaths
} else := effective.all_as_asked(effective.policies_on(kind, paths, source))

# The nodes above a rule on the request's path, and the rule, from the top.
_nodes_to(way, rule) := [node |
	some [_, node] in sort({[index, node] |
		some path in _ways(way, rule, false)
		some index, node in path
	})
]

_ways(way, rule, with_namespaces) := {path |
	some path in hierarchy.paths(rule, with_namespaces)
	every node in way {
		node in path
	}
}

_paths(kind, way, rule, node) := hierarchy.kind_paths(kind, node) if {
	kinds.is_direct(kind)
} else := {array.slice(path, 0, index + 1) |
	some path in _ways(way, rule, kinds.names_namespaces(kind))
	some index, other in path
	other == node
} if {
	node in _nodes_to(way, rule)
} else := hierarchy.paths_below(_ways(way, rule, with_namespaces), node, with_namespaces) if {
	with_namespaces := kinds.names_namespaces(kind)
}
