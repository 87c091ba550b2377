# METADATA
# title: Request
# description: |
#   The route rule that serves a request, by Gateway API's precedence of listeners and matches: the listener with the
#   most specific hostname, then the route's match (HTTPRouteRule.matches, GRPCRouteRule.matches), then the older route.
#   The hierarchy decides which routes are attached.
package bridge.request

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.scopes

# METADATA
# description: |
#   The request in `input`, with defaults: `{protocol, port, host, path, method, headers, query, service, rpc}`.
#   `protocol` is HTTP, HTTPS, GRPC, TLS, TCP or UDP; `port` 0 means any.
request := {
	"protocol": _protocol,
	"port": object.get(input, "port", 0),
	"host": _host,
	"path": _path,
	"method": object.get(input, "method", {true: "POST", false: "GET"}[_protocol == "GRPC"]),
	"headers": {lower(name): _one(value) | some name, value in object.get(input, "headers", {})},
	"query": {name: _first(value) | some name, value in object.get(input, "query", {})},
	"service": object.get(input, ["grpc", "service"], ""),
	"rpc": object.get(input, ["grpc", "method"], ""),
}

# METADATA
# description: The values of `protocol`.
protocols := {"HTTP", "HTTPS", "GRPC", "TLS", "TCP", "UDP"}

_protocol := input.protocol if {
	input.protocol
} else := "GRPC" if {
	input.grpc
} else := "TLS" if {
	input.sni
} else := "HTTP" if {
	some field in ["host", "path"]
	input[field]
} else := "TCP"

# The port of a Host header is not part of the hostname (Gateway API, HTTPRouteSpec.hostnames).
_host := trim_suffix(regex.replace(lower(object.get(input, "sni", object.get(input, "host", ""))), `:[0-9]+$`, ""), ".")

_path := sprintf("/%s/%s", [object.get(input, ["grpc", "service"], ""), object.get(input, ["grpc", "method"], "")]) if {
	_protocol == "GRPC"
	not input.path
} else := object.get(input, "path", "/")

# A repeated header is one header with joined values (RFC 9110, 5.3).
_one(value) := value if is_string(value)

_one(value) := concat(",", value) if is_array(value)

# Gateway API does not define which of several query values counts; implementations take the first.
_first(value) := value if is_string(value)

_first(value) := value[0] if is_array(value)

# METADATA
# description: The problem of a request's input, as a sentence with the valid form. Undefined if it is valid.
input_problem := sprintf("%s must be a string", [field]) if {
	texts := ["host", "path", "method", "sni", "protocol"]
	field := [wrong | some wrong in texts; not is_string(object.get(input, wrong, ""))][0]
} else := sprintf("%s must have at most %d characters", [field, bounds[field]]) if {
	bounds := {"host": 260, "sni": 260, "path": 8192, "method": 256} # a host has 253, and may have a port
	field := [long | some long, bound in bounds; count(object.get(input, long, "")) > bound][0]
} else := sprintf("protocol must be one of %s", [concat(", ", sort(protocols))]) if {
	input.protocol
	not input.protocol in protocols
} else := "port must be a number from 1 to 65535" if {
	not _is_port(object.get(input, "port", 1))
} else := "path must begin with / and must not contain ?: use query for parameters" if {
	not regex.match(`^/[^?#]*$`, object.get(input, "path", "/"))
} else := "grpc must have service and method, both strings without /" if {
	not _is_call(object.get(input, "grpc", {"service": "a", "method": "b"}))
} else := sprintf("%s must be an object of strings, or of lists of strings", [field]) if {
	field := [wrong | some wrong in ["headers", "query"]; not _are_values(object.get(input, wrong, {}))][0]
} else := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]" if {
	input.gateway
	not _takes_requests(input.gateway)
}

_is_port(value) if {
	is_number(value)
	value == floor(value)
	value >= 1
	value <= 65535
}

_is_call(value) if {
	is_string(value.service)
	is_string(value.method)
	not contains(concat("", [value.service, value.method]), "/")
}

_are_values(value) if {
	is_object(value)
	every one in value {
		_is_value(one)
	}
}

_is_value(one) if is_string(one)

_is_value(one) if {
	is_array(one)
	count(one) > 0
	every part in one {
		is_string(part)
	}
}

_takes_requests(key) if {
	keys.parse(key).section == ""
	levels.of(key) in {"Gateway", "Frontend"}
}

# METADATA
# description: |
#   The effective policies of all kinds for a request, in the form of `effective`, from the top down: at the nodes of
#   the path to the rule, at the rule, and at the `reachable_backends` and their ports. Only the path through the entry
#   point counts.
policies(entry, rule, reachable_backends) := [{"target": node, "policyKind": kind, "paths": paths} |
	some node in array.concat(_nodes_to(entry, rule), reachable_backends)
	some kind in sort(kinds.in_use)
	scopes.acts_at(kind, node)
	not _by_its_section(kind, node, entry, rule, reachable_backends)
	paths := effective.policies_on(kind, _paths(kind, entry, rule, node), object.get(input, "sourceNamespace", ""))
	count(paths) > 0
]

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

_paths(kind, _, _, node) := hierarchy.kind_paths(kind, node) if kinds.is_direct(kind)

_paths(kind, entry, rule, node) := {array.slice(path, 0, index + 1) |
	some path in _ways(entry, rule, kinds.names_namespaces(kind))
	some index, other in path
	other == node
} if {
	not kinds.is_direct(kind)
	node in _nodes_to(entry, rule)
}

_paths(kind, entry, rule, node) := hierarchy.paths_below(_ways(entry, rule, with_namespaces), node, with_namespaces) if {
	not kinds.is_direct(kind)
	not node in _nodes_to(entry, rule)
	with_namespaces := kinds.names_namespaces(kind)
}

# METADATA
# description: |
#   Warnings about the result at an entry point, `{reason, message}`: some data planes respond differently, or filters
#   of the listener may change the request before a route is selected.
warnings(entry) := array.flatten([_more_specific(entry), _filtered(entry), _by_implementation(entry)])

# Rules of the next hostname serve requests that the first does not match (HTTPRouteSpec.hostnames). Envoy's virtual
# hosts have no next one: they are made of the common hostnames of routes and listener, and the most specific one gets
# the request.
_more_specific(entry) := [warning |
	name := [name |
		some name in covering_hostnames(request.host)
		specificity(common_hostname(name, hostname(entry))) < specificity(common_hostname(_matched_hostname(entry), hostname(entry)))
		count(_attached_at(entry, name)) > 0
	][0]
	route_key := sort(_attached_at(entry, name))[0]
	warning := {
		"reason": "MoreSpecificHostname",
		"message": sprintf("%s %s has the more specific hostname %s, and none of its rules match: data planes based on Envoy return 404 here", [
			keys.parse(route_key).kind,
			keys.short(route_key),
			name,
		]),
	}
] if {
	not any_host(entry)
} else := []

_matched_hostname(entry) := [name |
	some name in covering_hostnames(request.host)
	specificity(name) == array.slice(first_match(entry)[0], 0, 2)
][0]

_attached_at(entry, name) := {route_key |
	some parent in entry_parents(entry)
	some path in index.some_served_paths(parent, name, "", paths_regarded)
	some route_key in index.routes_serving(parent, name, path)
	keys.type_of(route_key) in types(entry)
	is_attached(entry, route_key)
}

_filtered(entry) := [{
	"reason": "ListenerFilters",
	"message": sprintf("%s %s#%s has filters, which may change the request before a route is chosen", [parts.kind, keys.short(entry), parts.section]),
} |
	count(listener_filters(entry)) > 0
	parts := keys.parse(entry)
]

_by_implementation(entry) := [{
	"reason": "PatternBeforePrefix",
	"message": "Envoy Gateway puts regular expressions before prefixes: other implementations may choose another rule",
} |
	first_match(entry)[0][3] == pattern_before_prefix
]
