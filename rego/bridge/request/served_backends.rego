package bridge.request

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.scopes

# The backends of a rule, in order: `{backend, target, port, weight, filters, problem}`, null for missing values.
# `target` is the port's node if the backend has such a port for the route's protocol; `problem` is the reason why
# requests fail there. `backend` and `target` are null if the ref names an object that cannot exist.
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

# The backends of the filters of a rule and of its backends: `{filter, place, backend, target, port, problem}`, where
# `filter` is its type and `place` its place in the rule. The rest is as in `backends`.
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

# Why every request to a rule of a route fails, `{status, message}`, null if a request may succeed: a service that must
# authorize the request cannot (HTTPRouteFilter.externalAuth fails closed), or the rule has no backend that accepts
# requests, and no filter that responds itself (HTTPRouteRule.backendRefs) or may do so.
failure(route_key, rule_object, destinations, filter_destinations) := {"status": _status(keys.type_of(route_key), "500", "UNAVAILABLE"), "message": message} if {
	some place, _ in rule_object.filters
	_is_closed(filter_destinations, sprintf("filters[%d]", [place]))
	message := "the filter ExternalAuth has no backend, and fails closed"
} else := null if {
	some place, destination in destinations
	destination.problem == null
	destination.weight != 0
	every number, _ in object.get(destination, "filters", []) {
		not _is_closed(filter_destinations, sprintf("backendRefs[%d].filters[%d]", [place, number]))
	}
} else := null if {
	some filter in rule_object.filters
	filter.type in {"RequestRedirect", "ExtensionRef"}
} else := {"status": _status(keys.type_of(route_key), "500", "UNAVAILABLE"), "message": messages[destinations == []]} if {
	messages := {
		true: "the rule has no backends, and no filter that answers requests",
		false: "no backend of the rule gets requests: each has the weight 0, or fails",
	}
}

# The ExternalAuth filter at a place has a backend that fails.
_is_closed(filter_destinations, place) if {
	some destination in filter_destinations
	destination.place == place
	destination.filter == "ExternalAuth"
	destination.problem != null
}

# The answer to a request that no rule serves at an entry point, `{status, message}` (HTTPRouteSpec.rules). null for a
# frontend without such routes, because its requests go to its Service.
unserved(entry) := null if {
	keys.is_frontend(entry)
	nearest.reached != "Route"
} else := {"status": _status(types(entry)[0], "404", "UNIMPLEMENTED"), "message": "no rule matches"}

# The result for a client at routes of a type: HTTP's status, gRPC's, or no connection.
_status(type, http, grpc) := grpc if {
	request.protocol == "GRPC"
	type in {"gateway.networking.k8s.io/GRPCRoute", "gateway.networking.k8s.io/HTTPRoute"}
} else := http if {
	type in {"gateway.networking.k8s.io/GRPCRoute", "gateway.networking.k8s.io/HTTPRoute"}
} else := "connection refused"

# The nodes that requests to a rule may reach: each existing backend and its port.
reachable_backends(candidate) := [node | some place, node in nodes; not node in array.slice(nodes, 0, place)] if {
	nodes := [node | some backend in candidate; backend.problem == null; some node in [backend.backend, backend.target]]
}

rule_at(route_key, position) := lookup.get(route_key).spec.rules[position]

# The filters of a request, in order: those of the listener, which run before a route is selected (GEP-5224), then those
# of the rule.
filters(entry, route_key, index) := array.concat(_listener_filters(entry), object.get(rule_at(route_key, index), "filters", []))

# The filters that an HTTP or HTTPS listener runs before a route is selected (Gateway API, ListenerFilters).
_listener_filters(entry) := [filter |
	listener(entry).protocol in {"HTTP", "HTTPS"}
	some filter in listener(entry).filters.requests
]

# The effective policies of all kinds for a request, in the form of `effective`, from the top down: at the nodes of the
# path to the rule, at the rule, and at the `reachable_backends` and their ports. Only the path through the entry point
# counts.
policies(entry, rule, reachable_backends) := [{"target": node, "policyKind": kind, "paths": paths} |
	some node in array.concat(_nodes_to(entry, rule), reachable_backends)
	some kind in sort(kinds.in_use)
	scopes.acts_at(kind, node)
	not _by_its_section(kind, node, entry, rule, reachable_backends)
	paths := _policies_on(kind, _paths(kind, entry, rule, node), object.get(input, "sourceNamespace", ""))
	count(paths) > 0
]

_policies_on(kind, paths, source) := effective.listed(effective.policies_on(kind, paths, source), hierarchy.counted_paths(kind, paths), source) if {
	input.allPaths
} else := effective.all_as_asked(effective.policies_on(kind, paths, source))

# The nodes above a rule on the request's path, and the rule, from the top.
_nodes_to(entry, rule) := [node |
	some [_, node] in sort({[index, node] |
		some path in _ways(entry, rule, false)
		some index, node in path
	})
]

_ways(entry, rule, with_namespaces) := {path |
	some path in hierarchy.paths(rule, with_namespaces)
	entry in path
}

# If a Direct kind acts at sections, its policies for the whole object act there (semantics C2).
_by_its_section(kind, node, entry, rule, reachable_backends) if {
	kinds.is_direct(kind)
	some other in array.concat(_nodes_to(entry, rule), reachable_backends)
	other != node
	keys.parse(other).object == node
	scopes.acts_at(kind, other)
}

_paths(kind, entry, rule, node) := hierarchy.kind_paths(kind, node) if {
	kinds.is_direct(kind)
} else := {array.slice(path, 0, index + 1) |
	some path in _ways(entry, rule, kinds.names_namespaces(kind))
	some index, other in path
	other == node
} if {
	node in _nodes_to(entry, rule)
} else := hierarchy.paths_below(_ways(entry, rule, with_namespaces), node, with_namespaces) if {
	with_namespaces := kinds.names_namespaces(kind)
}

# Warnings about the result at an entry point, `{reason, message}`: some data planes respond differently, or filters of
# the listener may change the request before a route is selected.
warnings(entry) := array.flatten([
	path_warnings,
	[warning | not any_host(entry); warning := reading_warning(entry)],
	listener_warnings(entry),
	[pattern_warning | _has_pattern_first(entry)],
])

_has_pattern_first(entry) if {
	[rank, route_key, _, _] := first_match(entry, implementation(entry))
	is_pattern_first(implementation(entry), keys.type_of(route_key), array.slice(rank, 2, count(rank))) # the hostname precedes
}

listener_warnings(entry) := [{"reason": "ListenerFilters", "message": message} |
	count(_listener_filters(entry)) > 0
	message := sprintf("%s has filters, which may change the request before a route is chosen", [keys.describe(entry)])
]

pattern_warning := {"reason": "PatternBeforePrefix", "message": "Envoy Gateway puts regular expressions before prefixes: other implementations may choose another rule"}

# The answer differs between Gateway API's text and implementations with virtual hosts: rules of the next hostname serve
# requests that the first does not match (HTTPRouteSpec.hostnames), but virtual hosts have no next one. If the Gateway's
# implementation is known, the answer is that of the implementation.
reading_warning(entry) := {"reason": "SpecificationDiffers", "message": specification_message(other, implementation(entry).name)} if {
	implementation(entry).virtualHosts
	not _has_pattern_first(entry) # Gateway API leaves their order to implementations
	other := _rule_by(entry, implementations.specification)
	other != rule_by(entry, implementation(entry))
} else := _more_specific(entry) if {
	true
} else := {"reason": "MoreSpecificHostname", "message": virtual_host_message(other)} if {
	not implementation(entry).virtualHosts
	_may_differ(entry)
	other := _rule_by(entry, implementations.envoy)
	other != rule_by(entry, implementations.specification)
}

_rule_by(entry, reading) := rule_by(entry_by(entry, reading), reading)

# Routes have several hostnames for the host, or listeners of the port.
_may_differ(entry) if {
	count([name | some name in covering_hostnames(request.host); has_attached(entry, name)]) > 1
} else if {
	some nodes in entries
	entry in nodes
	count(nodes) > 1
}

# Rules of the next hostname serve requests that the first does not match. Virtual hosts are made of the common hostnames of
# routes and listener, the more specific of both, and the most specific one gets the request.
_more_specific(entry) := [warning |
	not implementation(entry).virtualHosts
	own := specificity(hostname(entry))
	served := min([own, array.slice(first_match(entry, implementation(entry))[0], 0, 2)])
	some name in covering_hostnames(request.host)
	min([own, specificity(name)]) < served
	unmatched := sort(attached_at(entry, name))[0]
	rule_by(entry, implementations.envoy) == null
	warning := more_specific_warning(unmatched, name)
][0]
