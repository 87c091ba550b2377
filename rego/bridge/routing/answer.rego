package bridge.routing

import data.bridge.lib.keys
import data.bridge.request as requests
import data.bridge.table

# METADATA
# description: |
#   The answer to the request at the first entry point, `{gateway, listener, route, rule, backends, filters, filterBackends,
#   failure, policies, also, nearest, undecided, warnings}`. `also` has the other entry points, with the ports of listeners. `nearest` has no candidates
#   unless rules are undecided: they need the objects.
answer := object.union_n([
	{field: null | some field in ["gateway", "listener", "route", "rule", "failure", "nearest"]},
	{field: [] | some field in ["backends", "filters", "filterBackends", "policies", "also", "undecided", "warnings"]},
	{field: value | some field, value in _at(_ways_in[0])},
	{"also": [object.union(_at(node), object.filter(table.listeners[node], ["port"])) | some node in array.slice(_ways_in, 1, count(_ways_in))]},
	_result,
])

# The entry points, first those where a rule serves the request or may serve it, the most specific listener first.
_ways_in := entry_points if {
	count(entry_points) < 2
} else := array.concat(
	[node | some node in entry_points; _is_served(node)],
	[node | some node in entry_points; not _is_served(node)],
)

_is_served(node) if {
	serving(node)
} else if {
	undecided(node) != []
}

_at(node) := table.rules[node][route][place] if {
	undecided(node) == []
	[_, route, place, _] := serving(node)
} else := {"gateway": table.listeners[node].gateway, "listener": null, "route": null, "rule": null} if {
	keys.is_frontend(node)
} else := {"gateway": table.listeners[node].gateway, "listener": node, "route": null, "rule": null}

_result := {"nearest": undecided_answer(rules), "undecided": rules} if {
	rules := undecided(_ways_in[0])
	rules != []
} else := object.union(results, {"failure": _failure(route, results.failure), "warnings": warnings(node)}) if {
	node := _ways_in[0]
	[_, route, place, _] := serving(node)
	results := table.served[node][route][place]
} else := object.union_n([
	{"nearest": nearest},
	{"failure": failed | failed := _unserved(_ways_in[0])},
	{"warnings": _warnings_unserved},
])

_warnings_unserved := warnings_without_a_rule(_ways_in[0]) if {
	_ways_in != []
} else := path_warnings

# Why every request to a rule of a route fails, null if a request may succeed.
_failure(_, null) := null
_failure(route, message) := {"status": _status(keys.type_of(route), "500", "UNAVAILABLE"), "message": message} if message != null

# The answer to a request that no rule serves at an entry point, `{status, message}` (HTTPRouteSpec.rules). null for a
# frontend without such routes, because its requests go to its Service.
_unserved(node) := null if {
	keys.is_frontend(node)
	nearest.reached != "Route"
} else := {"status": _status(types(node, implementation(node))[0], "404", "UNIMPLEMENTED"), "message": "no rule matches"}

# The result for a client at routes of a type: HTTP's status, gRPC's, or no connection.
_status(type, http, grpc) := grpc if {
	requests.request.protocol == "GRPC"
	type in {requests.http_type, requests.grpc_type}
} else := http if {
	type in {requests.http_type, requests.grpc_type}
} else := "connection refused"

# METADATA
# description: |
#   The progress of a request that no rule serves, `{reached, reason, message, candidates}`: `reached` is Gateway, Listener or
#   Route.
nearest := {"reached": "Gateway", "reason": "NoListener", "message": _no_listener_message, "candidates": []} if {
	entry_points == []
} else := {"reached": "Route", "reason": "NoMatchingRule", "message": message, "candidates": []} if {
	some node in entry_points
	hosts(node) != []
	message := sprintf("No rule of the routes%s matches", [_for_host])
} else := {"reached": "Listener", "reason": "NoRoute", "message": message, "candidates": []} if {
	node := entry_points[0]
	kinds := concat(" or ", [split(type, "/")[1] | some type in types(node, implementation(node))])
	message := sprintf("No %s%s is attached to %s", [kinds, _for_host, table.listeners[node].name])
}

_no_listener_message := sprintf("No listener accepts %s%s%s", [requests.request.protocol, _for_host, concat("", [sprintf(" on port %d", [requests.request.port]) | requests.request.port != 0])])

_for_host := concat("", [sprintf(" for %s", [requests.request.host]) | requests.request.host != ""])

# METADATA
# description: "`nearest` if rules are undecided, so the serving rule is unknown."
undecided_answer(rules) := {
	"reached": "Route",
	"reason": "CannotTell",
	"message": sprintf("Cannot tell: %s may serve it, but %s", [keys.describe(rules[0].node), _doubt(rules[0])[1]]),
	"candidates": [object.union(rule, {"reason": _doubt(rule)[0]}) | some rule in rules],
}

# Why it is unknown whether a rule serves the request, `[reason, text]`.
_doubt(rule) := ["Delegated", delegated_message] if {
	rule.message == delegated_message
} else := ["PatternNotCompiled", "its pattern is not compiled"]
