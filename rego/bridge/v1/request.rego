package bridge.v1

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.queries
import data.bridge.request as requests

# METADATA
# description: |
#   `request`: the rule that serves a request, by Gateway API's precedence, its backends, and the effective policies of
#   every kind there: `{gateway, listener, route, rule, backends, filters, filterBackends, failure, policies, also,
#   nearest, undecided, warnings}`. If no rule matches, or `undecided` has rules, route and rule are null and `nearest`
#   describes how far the request gets. `also` has the other listeners that accept such a request, if `gateway` or
#   `port` is not set.
# entrypoint: true
request := problem if {
	problem := queries.input_problem
} else := _request_problem if {
	_request_problem
} else := object.union_n([
	{field: null | some field in ["gateway", "listener", "route", "rule", "failure", "nearest"]},
	{field: [] | some field in ["backends", "filters", "filterBackends", "policies", "also", "undecided", "warnings"]},
	{field: value | some field, value in _entered[0]},
	{"also": array.slice(_entered, 1, count(_entered))},
	_answer,
])

_answer := {"nearest": requests.undecided_answer(undecided), "undecided": undecided} if {
	# The rules that might serve the request at the first entry point where one does.
	undecided := requests.undecided_rules(_first_entry)
	count(undecided) > 0
} else := {
	"backends": backends,
	"filters": requests.filters(_first_entry, route, index),
	"filterBackends": filter_backends,
	"failure": requests.failure(route, requests.rule_at(route, index), backends),
	"policies": requests.policies(_first_entry, rule, requests.reachable_backends(array.concat(backends, filter_backends))),
	"warnings": requests.warnings(_first_entry),
} if {
	[route, rule, index] := requests.matching_rule(_first_entry)
	backends := requests.backends(route, index)
	filter_backends := requests.filter_backends(route, index)
} else := object.union({"nearest": requests.nearest}, {"failure": failure | failure := requests.unserved(_first_entry)})

# The entry points, first those where a rule serves the request, the most specific listener first.
_entered := [_at(entry) | some entry in _ways_in]

_first_entry := _ways_in[0]

_ways_in := array.concat(
	[entry | some entry in requests.entry_points; _may_serve(entry)],
	[entry | some entry in requests.entry_points; not _may_serve(entry)],
)

_may_serve(entry) if requests.matching_rule(entry)
_may_serve(entry) if count(requests.undecided_rules(entry)) > 0

_at(entry) := object.union({"gateway": requests.gateway_of(entry), "listener": _listener_or_null(entry)}, _by_rule(entry))

_by_rule(entry) := {"route": route, "rule": rule} if {
	count(requests.undecided_rules(entry)) == 0
	[route, rule, _] := requests.matching_rule(entry)
} else := {"route": null, "rule": null}

_listener_or_null(entry) := null if {
	keys.is_frontend(entry)
} else := entry

_request_problem := queries.error("InvalidInput", requests.input_problem) if {
	requests.input_problem
} else := queries.error("TargetNotFound", sprintf("%s does not exist", [input.gateway])) if {
	input.gateway
	not hierarchy.canonical_key(input.gateway)
}
