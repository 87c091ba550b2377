package bridge.table

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.request as requests

# A route is attached to an entry point for a hostname.
hosts[node][bucket][name] if {
	some node in asked
	some bucket in _buckets
	some name in _hostnames(node)
	_has_attached(node, bucket, name)
}

# Some of the routes that are attached to an entry point for a hostname, by their keys: those with the first paths.
routes[node][bucket][name] := sort({route | some route in _first_routes(node, name); _may_serve(node, bucket, route); is_attached(node, route)}) if {
	some node in asked
	some bucket in _buckets
	some name in _hostnames(node)
}

# The matches of routes that may be attached, by hostname and path (see `records`).
matches[node][bucket][name][path][id] := record if {
	some node in asked
	some bucket in _buckets
	some name in _hostnames(node)
	some [path, id, record] in _records(node, bucket, name)
}

_records(node, bucket, name) := _written_records(node, bucket, name) if {
	not index.has_extension_links
} else := array.concat(
	[found | some found in _written_records(node, bucket, name); not _is_followed(found[2])],
	[[path, concat(" ", array.concat([id], one.through)), object.union(record, {"place": place_through(one.index, one.through)})] |
		own := implementation(node)
		some route in _candidates(node, name)
		_may_serve(node, bucket, route)
		some one in _delegated_by(route)
		path := path_of_match(keys.type_of(one.route), one.match)
		path in requests.paths[bucket]
		some id, record in records(own, one.route, one.index, one.place, one.match)
	],
)

_written_records(node, bucket, name) := [[path, id, record] |
	own := implementation(node)
	some route in _candidates(node, name)
	_may_serve(node, bucket, route)
	some [path, position, place, match] in written(route)
	path in requests.paths[bucket]
	some id, record in records(own, route, position, place, match)
]

# The match of a rule all of whose delegates the table has.
_is_followed(record) if {
	record.delegated
	not delegated(record.route, to_number(record.place)).open
}

_delegated_by(route) := [one |
	some index, _ in lookup.get(route).spec.rules
	delegates(route, index)
	some one in delegated(route, index).matches
]

# The rules that get requests at an entry point through delegating rules, `[route, index, through]`.
_delegated_at[node] contains [one.route, one.index, one.through] if {
	index.has_extension_links
	some node in asked
	some route in _candidates_at[node]
	is_attached(node, route)
	some one in _delegated_by(route)
}

# The rules of routes that are attached to an entry point, as nodes.
rules[node][route][place] := rule_of(node, route, index) if {
	some node in asked
	some route in _candidates_at[node]
	is_attached(node, route)
	some index, _ in lookup.get(route).spec.rules
	place := sprintf("%d", [index])
}

rules[node][route][place] := rule_of(node, route, position) if {
	some node in asked
	some [route, position, through] in _delegated_at[node]
	place := place_through(position, through)
}

# What happens to the requests that they serve.
served[node][route][place] := object.union(results, {"policies": policies([node], rules[node][route][place].rule, results)}) if {
	some node in asked
	some route in _candidates_at[node]
	some index, _ in lookup.get(route).spec.rules
	place := sprintf("%d", [index])
	results := results_of(node, route, index)
}

served[node][route][place] := object.union(results, {"policies": policies(array.concat([node], through), rules[node][route][place].rule, results)}) if {
	some node in asked
	some [route, position, through] in _delegated_at[node]
	place := place_through(position, through)
	results := results_of(node, route, position)
}

# METADATA
# description: The rule of a route at an entry point, as the answer names it.
rule_of(node, route, index) := {
	"gateway": gateway_of(node),
	"listener": _listener(node),
	"route": route,
	"rule": keys.section(route, hierarchy.section_names(route)[index]),
}

_listener(node) := null if {
	keys.is_frontend(node)
} else := node

_buckets := ["GRPC", "any"]

# In a mesh a request is for a Service, so hostnames of routes do not matter (GAMMA): all of its matches are at `*`.
_hostnames(node) := ["*"] if {
	keys.is_frontend(node)
} else := requests.hostnames

# The hostnames of routes that a hostname of the table stands for.
_names(node, _) := index.served_names(node) if keys.is_frontend(node)
_names(node, name) := {name} if not keys.is_frontend(node)

_candidates_at[node] contains route if {
	some node in asked
	some name in _hostnames(node)
	some route in _candidates(node, name)
}

# The routes that may serve the request at an entry point for a hostname: those that the index has at a prefix of the
# request's path, so other routes cost nothing.
_candidates(node, name) := {route |
	some declared in _names(node, name)
	some parent in parents_of(node)
	some path in _paths_above
	some route in index.routes_serving(parent, declared, path)
}

# The request's path, its prefixes, and routes without a fixed path.
_paths_above := {"*", "/"} | {concat("/", array.slice(segments, 0, number)) |
	segments := split(index.without_last_slash(requests.request.path), "/")
	some number in numbers.range(2, count(segments))
}

_may_serve(node, bucket, route) if {
	type := keys.type_of(route)
	requests.bucket(type) == bucket
	type in _types_at(node)
}

_types_at(node) := requests.types_by_protocol[requests.request.protocol] if {
	keys.is_frontend(node)
} else := requests.types_by_protocol[protocol] if {
	protocol := hierarchy.listener(node).protocol
	protocol in {"TLS", "TCP", "UDP"}
} else := requests.types_by_protocol.GRPC

# Usually a route with one of the first paths is attached.
_has_attached(node, bucket, name) if {
	some route in _first_routes(node, name)
	_may_serve(node, bucket, route)
	is_attached(node, route)
} else if {
	some declared in _names(node, name)
	some parent in parents_of(node)
	some route in index.routes_with_hostname(parent, declared)
	_may_serve(node, bucket, route)
	is_attached(node, route)
}

_first_routes(node, name) := {route |
	some declared in _names(node, name)
	some parent in parents_of(node)
	some path in index.some_served_paths(parent, declared, "", paths_regarded)
	some route in index.routes_serving(parent, declared, path)
}

# METADATA
# description: The maximum number of examined paths of a hostname if no rule serves a request.
paths_regarded := 20

# METADATA
# description: |
#   The parents that routes name at an entry point, a Gateway, ListenerSet or frontend, and for a default Gateway its key in
#   the index.
parents_of(node) := {node} if {
	keys.is_frontend(node)
} else := {keys.parse(node).object, index.default_gateways_key} if {
	keys.parse(node).object in index.default_gateways
} else := {keys.parse(node).object}

# METADATA
# description: |
#   A route is attached to an entry point. For a frontend, only routes of the source or the producer count (semantics P6), and
#   only those that are bound to the request's port.
is_attached(node, route) if {
	node in hierarchy.parents(route)
	_is_bound(node, route)
}

_is_bound(node, route) if {
	not keys.is_frontend(node)
} else if {
	own := hierarchy.mesh_ports(node, route, object.get(input, "sourceNamespace", ""))
	count(own & hierarchy.ports_with_number(node, requests.request.port)) > 0
}
