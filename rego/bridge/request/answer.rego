package bridge.request

import data.bridge.lib.keys

# The answer to the request at the first entry point, `{gateway, listener, route, rule, backends, filters,
# filterBackends, failure, policies, also, nearest, undecided, warnings}`. `also` has the other entry points.
answer := object.union_n([
	{field: null | some field in ["gateway", "listener", "route", "rule", "failure", "nearest"]},
	{field: [] | some field in ["backends", "filters", "filterBackends", "policies", "also", "undecided", "warnings"]},
	{field: value | some field, value in _at(_ways_in[0])},
	{"also": [_at(entry) | some entry in array.slice(_ways_in, 1, count(_ways_in))]},
	_result,
])

# The entry points, first those where a rule serves the request or may serve it, the most specific listener first.
_ways_in := array.concat(
	[entry | some entry in entry_points; _number_of_rules(entry) > 0],
	[entry | some entry in entry_points; _number_of_rules(entry) == 0],
)

_number_of_rules(entry) := count([rule | rule := matching_rule(entry)]) + count(undecided_rules(entry))

_at(entry) := object.union_n([
	{"gateway": gateway_of(entry), "listener": null, "route": null, "rule": null},
	{"listener": entry | not keys.is_frontend(entry)},
	{name: node |
		count(undecided_rules(entry)) == 0
		[route, rule, _] := matching_rule(entry)
		some name, node in {"route": route, "rule": rule}
	},
])

_result := {"nearest": undecided_answer(undecided), "undecided": undecided} if {
	undecided := undecided_rules(_ways_in[0])
	count(undecided) > 0
} else := {
	"backends": to_backends,
	"filters": filters(entry, route, index),
	"filterBackends": to_filter_backends,
	"failure": failure(route, rule_at(route, index), to_backends, to_filter_backends),
	"policies": policies(entry, rule, reachable_backends(array.concat(to_backends, to_filter_backends))),
	"warnings": warnings(entry),
} if {
	entry := _ways_in[0]
	[route, rule, index] := matching_rule(entry)
	to_backends := backends(route, index)
	to_filter_backends := filter_backends(route, index)
} else := {"nearest": as_far_as_read(with_not_attached(nearest))} if {
	is_partly_read
} else := object.union_n([
	{"nearest": with_not_attached(nearest)},
	{"failure": failed | failed := unserved(_ways_in[0])},
	{"warnings": array.concat(path_warnings, [warning | not any_host(_ways_in[0]); warning := reading_warning(_ways_in[0])])},
])
