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

_request := {"protocol": "HTTP", "port": 0, "host": input.host, "path": path, "pathAndQuery": path, "method": object.get(input, "method", "GET"), "headers": {}, "query": {}, "service": call[0], "rpc": call[1]} if {
	_is_plain
	path := object.get(input, "path", "/")
	call := requests.call
} else := requests.request

# In TCP and UDP no host is visible.
_names := ["*"] if {
	_request.protocol in {"TCP", "UDP"}
} else := requests.covering_hostnames(_request.host)

# As in the hub's answer; the hub computed what a rule does with the request.
_answer := object.union(rule.answer, {
	"failure": rule.failure[_status],
	"also": _also,
	"warnings": array.flatten([_warnings(entry), data.bridge_answers.listeners[entry].warnings, match.warnings]),
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

# Streams name no host.
_warnings(entry) := [warning |
	not _request.protocol in {"TCP", "UDP"}
	warning := _reading_warning(entry)
]

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
	"warnings": _warnings(_ways_in[0]),
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
	entered := data.bridge_answers.listeners[_entry_points[0]]
	message := requests.no_route_message(entered.kinds[_status], entered.name)
}

# The listeners that accept the request, by `[Gateway, port, transport]`, each `[specificity, rank, listener]`.
_entries[[gateway, port, transport]] contains [specificity, rank, entry] if {
	some gateway in _gateways
	some [specificity, rank, entry, port, transport] in [orders | some name in _names; orders := data.bridge_answers.entries[gateway][_mode][name]][0]
	_request.port in {0, port}
}

_gateways := {input.gateway} if {
	input.gateway
} else := {gateway | some gateway, _ in data.bridge_answers.entries}

# The match at each place that takes the request, the most specific first.
_entry_points := [entry | some [_, _, entry] in sort({_first(orders, "rank") | some _, orders in _entries})]

# The first of these listeners by a reading of the specification, which is named by its ranks of matches.
_first(orders, reading) := [order | some order in orders][0] if {
	count(orders) == 1
} else := min({[_entry_rank(order, reading), order] | some order in orders})[1]

_entry_rank(order, reading) := _virtual_host_rank(entry) if {
	entry := order[2]
	data.bridge_answers.listeners[entry].sharesHosts
	_has_virtual_hosts(entry, reading)
} else := order[0]

_has_virtual_hosts(entry, "rank") if data.bridge_answers.listeners[entry].virtualHosts
_has_virtual_hosts(entry, "otherRank") if not data.bridge_answers.listeners[entry].virtualHosts

_virtual_host_rank(entry) := min({requests.no_virtual_host} | {_common_rank(entry, name) | some [_, name] in _hosts(entry)})

_common_rank(entry, name) := min([data.bridge_answers.listeners[entry].specificity, requests.specificity(name)])

_mode := input.protocol if {
	object.get(input, "protocol", "GRPC") != "GRPC"
} else := _request.protocol if {
	not _request.protocol in {"GRPC", "HTTP"}
} else := "default"

# First those where a rule serves the request or may serve it.
_ways_in := _entry_points if {
	count(_entry_points) < 2
} else := array.concat(
	[entry | some entry in _entry_points; _found(entry, "rank") != set()],
	[entry | some entry in _entry_points; _found(entry, "rank") == set()],
)

_serving(entry) := _best(entry, "rank")

_best(entry, reading) := min({[match[reading], match] | some match in _found(entry, reading); not match.unknown})[1]

# The rule of the best match, as a node.
_rule_by(entry, reading) := data.bridge_answers.rules[entry][_best(entry, reading).rule].answer.rule if {
	true
} else := null

_undecided(entry) := [] if {
	every match in _found(entry, "rank") {
		not match.unknown
	}
} else := array.slice([rule | some [_, rule] in sort(best)], 0, 5) if {
	open := {[match.rank, {"node": data.bridge_answers.rules[entry][match.rule].answer.rule, "message": match.unknown}] |
		some match in _found(entry, "rank")
		match.unknown
		not _outranked(entry, match.rank)
	}
	best := {min({one | some one in open; one[1].node == rule.node}) | some [_, rule] in open}
}

_outranked(entry, rank) if _serving(entry).rank <= rank

# The matches that accept the request, or that would if their patterns were compiled.
_found(entry, reading) := (candidates - patterned) | _decided(patterned) if {
	candidates := _candidates(entry, reading)
	patterned := {match | some match in candidates; match.patterned}
}

_candidates(entry, reading) := {match |
	some [protocol, name] in _hosts_by(entry, reading)
	some path in _paths[protocol]
	some match in data.bridge_answers.matches[entry][protocol][name][path]
	match[reading]
	every one in match.exact {
		object.get(_request, one[0], null) == one[1]
	}
	every one in match.ends {
		endswith(object.get(_request, one[0], ""), one[1])
	}
	every place in match.present {
		object.get(_request, place, null) != null
	}
}

# The hostnames that cover the host and have routes, the most specific first.
_hosts(entry) := [[protocol, name] |
	some name in _names
	some protocol in _protocols(entry)
	data.bridge_answers.hosts[entry][protocol][name]
]

# Virtual hosts have no next hostname.
_hosts_by(entry, reading) := [host | some host in _hosts(entry); _common_rank(entry, host[1]) == rank] if {
	_has_virtual_hosts(entry, reading)
	not _request.protocol in {"TCP", "UDP"}
	count(_hosts(entry)) > 1
	rank := _virtual_host_rank(entry)
} else := _hosts(entry)

# Only a gRPC call is for GRPCRoutes, unless an implementation compares paths alone.
_protocols(entry) := ["GRPC", "any"] if {
	_request.protocol == "GRPC"
} else := ["GRPC", "any"] if {
	data.bridge_answers.listeners[entry].servesCallsByPath
} else := ["any"]

_paths := {
	"any": array.concat([concat("", ["=", _request.path]), "*"], [substring(path, 0, slash + 1) | some slash in indexof_n(path, "/")]),
	"GRPC": [_request.service, "*"],
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
} else := object.union(match, {field: rank |
	some field in match.countedIn
	rank := array.flatten([
		array.slice(match[field], 0, 3),
		[number | some places in match.counted; number := 0 - sum([count(object.get(_request, place, "")) | some place in places])],
		array.slice(match[field], 5, count(match[field])),
	])
})

# As the hub's warning: another reading of the specification has another rule.
_reading_warning(entry) := {"reason": "SpecificationDiffers", "message": requests.specification_message(other, data.bridge_answers.listeners[entry].implementation)} if {
	data.bridge_answers.listeners[entry].virtualHosts
	not _has_pattern_first(entry)
	other := _rule_by(_other_entry(entry), "otherRank")
	other != _rule_by(entry, "rank")
} else := _more_specific(entry) if {
	true
} else := {"reason": "MoreSpecificHostname", "message": requests.virtual_host_message(other)} if {
	not data.bridge_answers.listeners[entry].virtualHosts
	_may_differ(entry)
	other := _rule_by(_other_entry(entry), "otherRank")
	other != _rule_by(entry, "rank")
}

_has_pattern_first(entry) if _best(entry, "rank").warnings[0]

_other_entry(entry) := _first(orders, "otherRank")[2] if {
	some orders in _entries
	entry in {order[2] | some order in orders}
}

_may_differ(entry) if {
	count({name | some [_, name] in _hosts(entry)}) > 1
} else if {
	some orders in _entries
	count(orders) > 1
	entry in {order[2] | some order in orders}
}

# Routes at a more specific hostname than that of the match.
_more_specific(entry) := [warning |
	not data.bridge_answers.listeners[entry].virtualHosts
	own := data.bridge_answers.listeners[entry].specificity
	served := min([own, array.slice(_serving(entry).rank, 0, 2)])
	some [protocol, name] in _hosts(entry)
	min([own, requests.specificity(name)]) < served
	_rule_by(entry, "otherRank") == null
	route := min({split(id, "#")[0] | some _, matches in data.bridge_answers.matches[entry][protocol][name]; some id, _ in matches})
	warning := requests.more_specific_warning(route, name)
][0]
