# METADATA
# title: Routing
# description: |
#   The route rule that serves a request, by Gateway API's precedence of listeners and matches: the listener with the
#   most specific hostname, then the route's match (HTTPRouteRule.matches, GRPCRouteRule.matches), then the older route.
#   It looks all of it up in the routing table, `bridge.table`, which the hub computes and an edge has stored.
package bridge.routing

import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.request as requests
import data.bridge.table

_looked_at := 16 # rules whose attachment is checked before all others; usually the best match is attached

candidate_bound := 5 # of an answer

# The entry points of the request: for each Gateway, port and transport one listener, or a frontend. By specificity, HTTPS
# first.
entry_points := [node | some [_, _, node] in sort({_first_by_own(orders) | some orders in _neighbors})]

# The listeners that accept the request, by `[Gateway, port, transport]`.
_neighbors[[gateway, port, transport]] contains [specificity, rank, node] if {
	some gateway in _gateways
	some [specificity, rank, node, port, transport] in [orders | some name in requests.hostnames; orders := table.entries[gateway][requests.mode][name]][0]
	requests.request.port in {0, port}
}

_gateways := {input.gateway} if {
	input.gateway
} else := {gateway | some gateway, _ in table.entries}

_first_by_own(orders) := [order | some order in orders][0] if {
	count(orders) == 1
} else := _first(orders, implementation(node)) if {
	some [_, _, node] in [min(orders)]
}

# The first of these listeners by a reading of the specification, the one with the most specific hostname (Gateway API,
# GatewaySpec.listeners, "Listeners that are distinct only by Hostname"); if listeners share virtual hosts, by the most
# specific one that a route has.
_first(orders, reading) := min({[_entry_rank(order, reading), order] | some order in orders})[1]

_entry_rank(order, reading) := virtual_host_rank(order[2]) if {
	implementations.shares_hosts(reading, table.listeners[order[2]].protocol)
} else := order[0]

# METADATA
# description: The entry point that another reading of the specification has instead of this one.
entry_by(node, reading) := _first(neighbors_of(node), reading)[2]

# METADATA
# description: The listeners that accept the request at the place of an entry point, `[specificity, rank, node]`.
neighbors_of(node) := [orders |
	some orders in _neighbors
	some order in orders
	order[2] == node
][0]

implementation(node) := table.listeners[node].implementation

# METADATA
# description: |
#   The types of routes that may serve the request at an entry point by a reading of the specification, in order of
#   preference. Envoy Gateway compares paths only, so GRPCRoutes serve other requests too.
types(node, reading) := requests.types_by_protocol[requests.request.protocol] if {
	keys.is_frontend(node)
} else := requests.types_by_protocol[table.listeners[node].protocol] if {
	table.listeners[node].protocol in {"TLS", "TCP", "UDP"}
} else := [requests.http_type, requests.grpc_type] if {
	reading.precedence == "Envoy Gateway"
} else := requests.types_by_protocol.GRPC if {
	requests.request.protocol == "GRPC"
} else := requests.types_by_protocol.HTTP

_buckets(node, reading) := ["GRPC", "any"] if {
	requests.grpc_type in types(node, reading)
} else := ["any"]

# METADATA
# description: The hostnames that cover the host and have routes, as `[bucket, hostname]`, the most specific first.
hosts(node) := [[bucket, name] |
	some name in requests.hostnames
	some bucket in _buckets(node, implementation(node))
	table.hosts[node][bucket][name]
]

# The next hostname serves requests that the first does not match (HTTPRouteSpec.hostnames), but virtual hosts have no next
# one.
_hosts_by(node, reading) := [host | some host in hosts(node); common_rank(node, host[1]) == rank] if {
	reading.virtualHosts
	count(hosts(node)) > 1
	rank := virtual_host_rank(node)
} else := hosts(node)

# The rank of the most specific hostname that the listener has in common with an attached route.
virtual_host_rank(node) := min({_no_virtual_host} | {common_rank(node, name) | some [_, name] in hosts(node)})

# The rank in place of a hostname's if no hostname that a listener has in common with a route covers the host.
_no_virtual_host := [1]

common_rank(node, name) := min([table.listeners[node].specificity, requests.specificity(name)])

# By the routes' own hostnames, not by the intersection with the listener's (Gateway API 1.7, Hostnames); for virtual hosts
# by that intersection.
_host_rank(node, reading, name) := common_rank(node, name) if reading.virtualHosts
_host_rank(_, reading, name) := requests.specificity(name) if not reading.virtualHosts

# The matches of which all but the patterns accept the request, `[hostname's rank, match]`.
_accepting(node, reading) := [[host_rank, match] |
	buckets := _buckets(node, reading)
	some [bucket, name] in _hosts_by(node, reading)
	bucket in buckets
	host_rank := _host_rank(node, reading, name)
	some path in requests.paths[bucket]
	some match in table.matches[node][bucket][name][path]
	match.ranks[reading.precedence]
	every one in match.conditions {
		_is_met(one)
	}
]

_is_met([place, "Exact", value]) if object.get(requests.request, place, null) == value
_is_met([place, "Suffix", value]) if endswith(object.get(requests.request, place, ""), value)
_is_met([place, "Present", _]) if object.get(requests.request, place, null) != null

# All matches that accept the request or may accept it, `[rank, route, rule's place, unknown]`, the best first: by the route's
# own hostname, by the type of the route, by the match, by the route's age, by its name, by the rule's place. `unknown`
# is the reason why it is not known, or empty.
_ranked(node, reading) := sort([[array.concat(host_rank, _rank(match, reading.precedence)), match.route, match.place, unknown] |
	some [host_rank, match] in _accepting(node, reading)
	unknown := _unknown(node, reading, match)
])

# A pattern's rank has the characters that it matches, not its own (GRPCRouteRule.matches).
_rank(match, precedence) := array.flatten([
	[match.ranks[precedence][0], array.concat(lengths, array.slice(match.ranks[precedence][1], 2, 4))],
	array.slice(match.ranks[precedence], 2, 5),
]) if {
	precedence == "Gateway API"
	match.counted
	lengths := [length | some places in match.counted; length := 0 - sum([count(requests.request[place]) | some place in places])]
} else := match.ranks[precedence]

_unknown(node, reading, match) := "" if {
	not _has_patterns(match)
	not match.delegated
} else := min({overweight_message} | _delegation(match)) if {
	_has_patterns(match)
	match.route in _left_out(node, reading)
} else := array.concat(sort({reason | reason := match.heavy} | _delegation(match)), [""])[0] if {
	every pattern in match.patterns {
		regex.match(pattern[1], object.get(requests.request, pattern[0], ""))
	}
} else := dialect_message if {
	# A pattern that does not compile neither matches nor differs.
	every pattern in match.patterns {
		not _differs(pattern)
	}
}

_differs(pattern) if regex.match(pattern[1], object.get(requests.request, pattern[0], "")) == false

_has_patterns(match) if match.patterns != []
_has_patterns(match) if match.heavy

_delegation(match) := {delegated_message | match.delegated}

delegated_message := "it delegates the request to other routes, which are not followed at an edge with effective policies only, beyond three steps, or where a path is joined to a regular expression"

dialect_message := "a pattern of it is not valid in RE2, the dialect of the bridge"

overweight_message := "the patterns of the routes for this request are too many to compile, and those of this route are the heaviest"

# Routes with patterns that are not compiled because all together are too many: those that are not attached, which do not
# count for the bound, and the heaviest of the others.
_left_out(node, reading) := set() if {
	overweight(_weights(node, reading)) == set()
} else := (object.keys(weights) - object.keys(attached)) | overweight(attached) if {
	weights := _weights(node, reading)
	attached := object.filter(weights, {route | some route, _ in weights; _has_attached_rules(node, route)})
}

# The weights of all patterns of each route that has some, each pattern once.
_weights(node, reading) := {route: sum([weight | some [_, weight] in patterns]) | some route, patterns in _patterns[node][reading.name]}

# A partial rule, because it groups patterns in one pass: of a route there may be hundreds.
_patterns[node][name][route] contains [pattern, weight] if {
	some orders in _neighbors
	some [_, _, node] in orders
	some reading in {implementation(node), implementations.specification, implementations.envoy}
	name := reading.name
	some [_, match] in _accepting(node, reading)
	route := match.route
	some [_, pattern, weight] in match.patterns
}

# The maximum weight of all patterns that one query compiles.
_query_bound := 200000

# METADATA
# description: |
#   Of routes with the weights of their patterns, those whose patterns are too many. Routes with the lowest weight are
#   kept, so one route cannot use the bound of all others.
overweight(weights) := {route | some route, weight in weights; weight > limit} if {
	heaviest := max({0} | {weight | some weight in weights})
	limit := max({0} | {limit |
		some limit in ({heaviest} | {bits.lsh(1, exponent) | some exponent in numbers.range(0, 17)})
		sum([weight | some weight in weights; weight <= limit]) <= _query_bound
	})
}

_is_attached(node, route, place) if table.rules[node][route][place]

_has_attached_rules(node, route) if table.rules[node][route][_]

# METADATA
# description: |
#   The match that serves the request at an entry point by a reading of the specification, `[rank, route, rule's place, ""]`.
#   Undefined if none does.
best(node, reading) := _first_attached(node, [row | some row in _ranked(node, reading); row[3] == ""])

_first_attached(node, rows) := rows[0] if {
	_is_attached(node, rows[0][1], rows[0][2])
} else := [row | some row in array.slice(rows, 1, _looked_at); _is_attached(node, row[1], row[2])][0] if {
	true
} else := [row | some row in array.slice(rows, _looked_at, count(rows)); _is_attached(node, row[1], row[2])][0]

# METADATA
# description: The best match by what implements the entry point.
serving(node) := best(node, implementation(node))

# METADATA
# description: The rule that serves the request by a reading of the specification, as a node, null if none does.
rule_by(node, reading) := table.rules[node][route][place].rule if {
	[_, route, place, _] := best(node, reading)
} else := null

# METADATA
# description: |
#   The rules that would serve the request instead of `serving` if their patterns match, which are not compiled, or that
#   delegate it: `{node, message}`, in order of precedence. While there are any, the serving rule is unknown.
undecided(node) := [] if {
	every row in _ranked(node, implementation(node)) {
		row[3] == ""
	}
} else := array.slice([rule | some [_, rule] in sort(first_of_each)], 0, candidate_bound) if {
	served := [rank | [rank, _, _, _] := serving(node)]
	open := {[rank, {"node": table.rules[node][route][place].rule, "message": unknown}] |
		some [rank, route, place, unknown] in _ranked(node, implementation(node))
		unknown != ""
		not _is_outranked(served, rank)
	}
	first_of_each := {min({one | some one in open; one[1].node == rule}) | some rule in {one[1].node | some one in open}}
}

# METADATA
# description: The routes with a weight among several that match the request at an entry point.
weighted_routes(node) := sort(weighted) if {
	accepting := _accepting(node, implementation(node))
	weighted := {match.route | some [_, match] in accepting; match.weighted; _has_attached_rules(node, match.route)}
	weighted != set()
	count({match.route | some [_, match] in accepting; _has_attached_rules(node, match.route)}) > 1
} else := []

# Matches with equal ranks are of one rule, which serves the request then.
_is_outranked(served, rank) if served[0] <= rank

# METADATA
# description: |
#   The match that serves the request precedes prefixes because its path is a regular expression: Gateway API leaves their
#   order to implementations.
has_pattern_first(node) if {
	implementation(node).precedence == "Envoy Gateway"
	[rank, route, _, _] := serving(node)
	keys.type_of(route) in {requests.http_type, requests.grpc_type}
	rank[2] == table.path_order.RegularExpression
}
