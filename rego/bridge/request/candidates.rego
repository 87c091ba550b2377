package bridge.request

import data.bridge.index
import data.bridge.lib.keys

# METADATA
# description: |
#   The types of routes that may serve the request at an entry point, in order of preference. A gRPC call is an HTTP
#   request, too; the contents of a TLS listener's connection are not visible.
types(entry) := _types_by_protocol[request.protocol] if {
	keys.is_frontend(entry)
} else := _types_by_protocol[listener(entry).protocol] if {
	listener(entry).protocol in {"TLS", "TCP", "UDP"}
} else := _types_by_protocol.GRPC if {
	request.protocol == "GRPC"
} else := _types_by_protocol.HTTP

_types_by_protocol := {protocol: [concat("/", [keys.gateway_api, kind]) | some kind in kinds] |
	some protocol, kinds in {
		"HTTP": ["HTTPRoute"],
		"HTTPS": ["HTTPRoute"],
		"GRPC": ["GRPCRoute", "HTTPRoute"],
		"TLS": ["TLSRoute", "TCPRoute"],
		"TCP": ["TCPRoute"],
		"UDP": ["UDPRoute"],
	}
}

# METADATA
# description: |
#   The routes of a type that may serve the request at an entry point, by declaration, `[hostname, route]`: those that
#   the index has at a hostname that covers the host and at a prefix of the request's path, so other routes cost
#   nothing.
candidates(entry, type) := {[name, route_key] |
	some name in _names(entry)
	some path in _paths_above
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

# METADATA
# description: |
#   Some routes of a type at an entry point whose hostnames cover the host, with the paths most similar to the
#   request's: with the same first segments, then with the same first one, then any.
routes_of_host(entry, type) := {route_key |
	some name in _names(entry)
	some path in _paths_near(entry, name)
	some parent in entry_parents(entry)
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

_paths_near(entry, name) := array.slice(near, 0, paths_regarded) if {
	near := array.concat(_paths_like(entry, name), [path | some path in ["/", "*"]; not path in _paths_like(entry, name)])
}

# Each prefix is used only if no path has the previous one.
_paths_like(entry, name) := found if {
	found := _begun(entry, name, _segments(3))
	count(found) > 0
} else := found if {
	found := _begun(entry, name, _segments(2))
	count(found) > 0
} else := found if {
	found := _begun(entry, name, substring(_segments(2), 0, floor(count(_segments(2)) * 0.7)))
	count(found) > 0
} else := _begun(entry, name, "")

_begun(entry, name, beginning) := array.slice(
	[path | some parent in entry_parents(entry); some path in index.some_served_paths(parent, name, beginning, paths_regarded)],
	0, paths_regarded,
)

_segments(number) := concat("/", array.slice(split(request.path, "/"), 0, number))

# METADATA
# description: The maximum number of examined paths of a hostname if no rule serves a request.
paths_regarded := 20

# METADATA
# description: |
#   The parents that routes name at an entry point, a Gateway, ListenerSet or frontend, and for a default Gateway its
#   key in the index.
entry_parents(entry) := {entry} if {
	keys.is_frontend(entry)
} else := {keys.parse(entry).object, index.default_gateways_key} if {
	keys.parse(entry).object in index.default_gateways
} else := {keys.parse(entry).object}

# In a mesh a request is for a Service, so hostnames of routes do not matter (GAMMA). Streams have none.
_names(entry) := {name | some parent in entry_parents(entry); some name in index.served_names(parent)} if {
	any_host(entry)
} else := {name | some name in covering_hostnames(request.host)}

# METADATA
# description: The host of a request does not matter at an entry point.
any_host(entry) if keys.is_frontend(entry)

any_host(_) if request.protocol in {"TCP", "UDP"}

# The request's path, its prefixes, and routes without a fixed path.
_paths_above := {"*", "/"} | {concat("/", array.slice(segments, 0, number)) |
	segments := split(index.without_last_slash(request.path), "/")
	some number in numbers.range(2, count(segments))
}
