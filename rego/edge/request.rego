package edge

import data.bridge.lib.keys
import data.bridge.request as requests

# As the query of the hub; of a request that no rule serves, `nearest` has no candidates.
request := unanswered if {
	true
} else := _problem if {
	not _is_plain
	_problem
} else := _answer

# Most requests have only these fields. To compare each with its schema and complete the request takes longer than the
# answer, which is half of the time of `request`.
_is_plain if {
	object.remove(input, ["gateway", "host", "path", "method"]) == {}
	regex.match(`^[a-z0-9.-]{0,252}[a-z0-9]$`, input.host)
	regex.match(`^/[^?#]{0,1000}$`, object.get(input, "path", "/"))
	is_string(object.get(input, "method", ""))
	count(object.get(input, "method", "")) < 50
	_is_known(input.gateway)
}

_problem := {"error": {"code": "InvalidInput", "message": requests.form_problem}} if {
	true
} else := needs_objects("a request to a mesh frontend") if {
	endswith(input.gateway, "@frontend")
} else := {"error": {"code": "InvalidInput", "message": message}} if {
	not _is_gateway(input.gateway)
	message := "gateway must be the key of a Gateway, or of a mesh frontend, <group>/<Kind>/<namespace>/<name>[@frontend]"
} else := not_in_view(input.gateway) if {
	not _is_known(input.gateway)
} else := not_in_view("a Gateway") if {
	not input.gateway
	not _has_gateways
}

_has_gateways if data.bridge_answers.entries[_].HTTP["*"]

# OPA converts what it reads of a document, so rules name its leaves.
_is_known(gateway) if data.bridge_answers.entries[gateway].HTTP["*"]

_is_gateway(key) if {
	_is_known(key)
} else if {
	parts := keys.parse(key)
	parts.type == "gateway.networking.k8s.io/Gateway"
	parts.section == ""
}

_request := {"protocol": "HTTP", "port": 0, "host": input.host, "path": object.get(input, "path", "/"), "method": object.get(input, "method", "GET"), "headers": {}, "query": {}} if {
	_is_plain
} else := requests.request

# In TCP and UDP no host is visible.
_names := ["*"] if {
	_request.protocol in {"TCP", "UDP"}
} else := requests.covering_hostnames(_request.host)

# As in the hub's answer; the hub computed what a rule does with the request.
_answer := object.union(rule.answer, {
	"failure": rule.failure[_status],
	"also": _also,
	"warnings": array.flatten([_more_specific(entry, match), data.bridge_answers.listeners[entry].warnings, match.warnings]),
}) if {
	entry := _ways_in[0]
	_undecided(entry) == []
	match := _serving(entry)
	rule := data.bridge_answers.rules[entry][match.rule]
} else := object.union_n([
	{field: null | some field in ["gateway", "listener", "route", "rule", "failure", "nearest"]},
	{field: [] | some field in ["backends", "filters", "filterBackends", "policies", "undecided", "warnings"]},
	{"also": _also},
	_unserved,
])

_also := [_at(entry) | some entry in array.slice(_ways_in, 1, count(_ways_in))]

_at(entry) := object.filter(data.bridge_answers.rules[entry][_serving(entry).rule].answer, ["gateway", "listener", "route", "rule"]) if {
	_undecided(entry) == []
} else := {"gateway": data.bridge_answers.listeners[entry].gateway, "listener": entry, "route": null, "rule": null}

_unserved := {"nearest": {"reached": "Gateway", "reason": "NoListener", "message": requests.no_listener_message, "candidates": []}} if {
	_ways_in == []
} else := object.union(_at(entry), {"nearest": requests.undecided_answer(undecided), "undecided": undecided}) if {
	entry := _ways_in[0]
	undecided := _undecided(entry)
	undecided != []
} else := object.union(_at(_ways_in[0]), {
	"nearest": object.union(_nearest, {"candidates": []}),
	"failure": data.bridge_answers.listeners[_ways_in[0]].unserved[_status],
})

# Whether failures are those of a gRPC call.
_status := "GRPC" if {
	_request.protocol == "GRPC"
} else := "other"

_nearest := {"reached": "Route", "reason": "NoMatchingRule", "message": requests.no_rule_message} if {
	some entry in _entry_points
	_hosts(entry) != []
} else := {"reached": "Listener", "reason": "NoRoute", "message": message} if {
	message := requests.no_route_message(data.bridge_answers.listeners[_entry_points[0]].name)
}

# The listeners that take the request, the most specific first.
_entry_points := [entry |
	some [_, _, entry, port] in _orders
	_request.port in {0, port}
]

_orders := _orders_of(input.gateway) if {
	input.gateway
} else := sort({order | some gateway, _ in data.bridge_answers.entries; some order in _orders_of(gateway)})

_orders_of(gateway) := [orders | some name in _names; orders := data.bridge_answers.entries[gateway][_mode][name]][0]

_mode := input.protocol if {
	object.get(input, "protocol", "GRPC") != "GRPC"
} else := _request.protocol if {
	not _request.protocol in {"GRPC", "HTTP"}
} else := "default"

# First those where a rule serves the request or may serve it.
_ways_in := _entry_points if {
	count(_entry_points) < 2
} else := array.concat(
	[entry | some entry in _entry_points; _found(entry) != set()],
	[entry | some entry in _entry_points; _found(entry) == set()],
)

_serving(entry) := min({[match.rank, match] | some match in _found(entry); not match.unknown})[1]

_undecided(entry) := [] if {
	every match in _found(entry) {
		not match.unknown
	}
} else := array.slice([rule | some [_, rule] in sort(best)], 0, 5) if {
	open := {[match.rank, {"node": data.bridge_answers.rules[entry][match.rule].answer.rule, "message": match.unknown}] |
		some match in _found(entry)
		match.unknown
		not _outranked(entry, match.rank)
	}
	best := {min({one | some one in open; one[1].node == rule.node}) | some [_, rule] in open}
}

_outranked(entry, rank) if _serving(entry).rank <= rank

# The matches that accept the request, or that would if their patterns were compiled.
_found(entry) := (candidates - patterned) | _decided(patterned) if {
	candidates := _candidates(entry)
	patterned := {match | some match in candidates; match.patterned}
}

_candidates(entry) := {match |
	some [protocol, name] in _hosts(entry)
	some path in _paths[protocol]
	some match in data.bridge_answers.matches[entry][protocol][name][path]
	every one in match.exact {
		object.get(_request, one[0], null) == one[1]
	}
	every place in match.present {
		object.get(_request, place, null) != null
	}
}

# The hostnames that cover the host and have routes, the most specific first.
_hosts(entry) := [[protocol, name] |
	some name in _names
	some protocol in _protocols
	data.bridge_answers.hosts[entry][protocol][name]
]

# Only a gRPC call is for GRPCRoutes.
_protocols := ["GRPC", "any"] if {
	_request.protocol == "GRPC"
} else := ["any"]

_paths := {
	"any": array.concat([concat("", ["=", _request.path]), "*"], [substring(path, 0, slash + 1) | some slash in indexof_n(path, "/")]),
	"GRPC": [object.get(_request, "service", ""), "*"],
} if {
	path := concat("", [_request.path, "/"])
}

# Those of these matches whose patterns match, or are not compiled; of all together only the lightest are.
_decided(matches) := matches if {
	matches == set()
} else := {found |
	routes := {match: split(match.rule, "#")[0] | some match in matches}
	patterns := {route: {pattern | some match in matches; routes[match] == route; some pattern in match.patterns} | some route in routes}
	overweight := requests.overweight({route: sum([weight | some [_, _, weight] in some_patterns]) | some route, some_patterns in patterns})
	some match in matches
	found := _ranked(_compared(match, routes[match] in overweight))
}

_compared(match, true) := object.union(match, {"unknown": requests.overweight_message})

_compared(match, false) := match if {
	every pattern in match.patterns {
		regex.match(pattern[1], object.get(_request, pattern[0], ""))
	}
}

# A pattern's rank has the characters that it matches.
_ranked(match) := match if {
	not match.counted
} else := object.union(match, {"rank": array.flatten([
	array.slice(match.rank, 0, 3),
	[number | some places in match.counted; number := 0 - sum([count(object.get(_request, place, "")) | some place in places])],
	array.slice(match.rank, 5, count(match.rank)),
])})

# Routes at a more specific hostname than that of the match.
_more_specific(entry, match) := array.slice(warnings, 0, 1) if {
	own := data.bridge_answers.listeners[entry].specificity
	served := min([own, array.slice(match.rank, 0, 2)])
	warnings := [requests.more_specific_warning(route, name) |
		some [protocol, name] in _hosts(entry)
		min([own, requests.specificity(name)]) < served
		route := min({split(id, "#")[0] | some _, matches in data.bridge_answers.matches[entry][protocol][name]; some id, _ in matches})
	]
}
