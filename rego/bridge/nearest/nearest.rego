# METADATA
# title: Nearest nodes
# description: The nodes that are nearest to a request that no rule serves, and why they do not serve it.
package bridge.nearest

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.matches
import data.bridge.lookup
import data.bridge.request as requests
import data.bridge.routing
import data.bridge.table

# METADATA
# description: |
#   `nearest` of an answer with its candidates, the nearest nodes, `{node, reason, message}`. It has a meaning only where no
#   rule serves the request, or may do so.
nearest := object.union(routing.nearest, {"reached": "Nothing", "reason": "NoGateway", "message": "There is no Gateway"}) if {
	count(table.gateways) == 0
} else := object.union(routing.nearest, {"candidates": _candidates})

# METADATA
# description: The answer to the request with the nearest nodes.
answer := object.union(routing.answer, {"failure": failures[0]}) if {
	routing.answer.nearest == null
	failures := array.concat(_failures_of_connection, _failures_of_extensions)
	failures != []
} else := routing.answer if {
	routing.answer.nearest == null
} else := routing.answer if {
	routing.answer.undecided != []
} else := object.union(routing.answer, {"nearest": _as_far_as_read, "failure": null, "warnings": []}) if {
	_is_partly_read
} else := object.union(routing.answer, {"nearest": with_not_attached(nearest)})

_failures_of_connection := [{"status": "TLS handshake fails", "message": concat("; ", refused)} |
	[object_key, _] := split(routing.answer.listener, "#")
	refused := hierarchy.unusable_certificates(object_key, hierarchy.listener(routing.answer.listener))
	refused != []
]

# A filter is not skipped if the object that it names does not exist: the request fails (HTTPRouteFilter.extensionRef). It is
# known not to exist if others of its kind are here. A listener's filters name objects beside it.
_failures_of_extensions := [{"status": _status_of_failure, "message": sprintf("the filter ExtensionRef names %s, which does not exist", [keys.describe(named[0])])} |
	some filter in routing.answer.filters
	filter.type == "ExtensionRef"
	named := [key |
		some node in [routing.answer.route, routing.answer.gateway]
		ref := filter.extensionRef
		key := keys.named(ref.group, ref.kind, keys.namespace(node), ref.name)
	]
	keys.type_of(named[0]) in lookup.types
	every key in named {
		not lookup.has_object(key)
		not lookup.may_be_unread(key)
	}
]

_status_of_failure := "UNAVAILABLE" if {
	requests.request.protocol == "GRPC"
} else := "500"

# The user of a command may not read every Gateway, ListenerSet or route, so another rule may serve the request.
_is_partly_read if {
	some type in lookup.partly_read
	levels.of_type(type) in {"Gateway", "ListenerSet", "Route"}
}

# Other Gateways of the class may have the same proxies, and so serve the request.
_is_partly_read if {
	lookup.reads_in_part
	some gateway in table.gateways
	some class in index.facts(gateway).class
	hierarchy.unread_parameters(class) != set()
}

_as_far_as_read := object.union(with_not_attached(nearest), {"reason": "CannotTell", "message": _message_as_far_as_read})

_message_as_far_as_read := "You can't read the Gateways, so the rule that serves this request is unknown" if {
	nearest.reason == "NoGateway"
} else := sprintf("No rule that you can read serves this request. %s", [nearest.message])

_candidates := _refusing_listeners if {
	routing.nearest.reached == "Gateway"
} else := array.slice([candidate | some [_, candidate] in sort(_misses(node))], 0, routing.candidate_bound) if {
	routing.nearest.reached == "Route"
	node := [node | some node in routing.entry_points; routing.hosts(node) != []][0]
} else := _near(routing.entry_points[0])

_types(node) := routing.types(node, routing.implementation(node))

_precedence(node) := routing.implementation(node).precedence

# In a mesh a request is for a Service, so hostnames of routes do not matter (GAMMA). Streams have none.
_takes_any_host(entry) if keys.is_frontend(entry)
_takes_any_host(_) if not requests.names_host

_names(entry) := {name | some parent in table.parents_of(entry); some name in index.served_names(parent)} if {
	_takes_any_host(entry)
} else := {name | some name in requests.hostnames; routing.common_rank(entry, name) == rank} if {
	routing.implementation(entry).virtualHosts
	routing.hosts(entry) != []
	rank := routing.virtual_host_rank(entry)
} else := {name | some name in requests.hostnames}

# If routes of the host are attached and none of their rules matches: of each rule the match with the fewest
# differences; a longer common path is nearer.
_misses(entry) := {[[number, rank], candidate] |
	precedence := _precedence(entry)
	some type in _types(entry)
	some route_key in _routes_of_host(entry, type)
	table.is_attached(entry, route_key)
	some index, _ in lookup.get(route_key).spec.rules
	[number, rank, parts] := min({[count(parts), 0 - _common(requests.request.path, match.path), parts] |
		some match in _matches(precedence, type, route_key)
		match.index == index
		parts := (match.misses | {[one.part, message] |
			some one in match.patterns
			message := _pattern_miss(one, route_key in _not_compared(entry, type))
		}) | {["routes", "it delegates requests to other routes, and none of their rules matches"] |
			table.delegates(route_key, index)
		}
	})
	candidate := {"node": keys.section(route_key, hierarchy.section_names(route_key)[index]), "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in sort(parts)])}
} | {[[0, 0], {"node": route_key, "reason": "NoMatch", "message": "has no rules"}] |
	some type in _types(entry)
	some route_key in _routes_of_host(entry, type)
	count(object.get(lookup.get(route_key).spec, "rules", [])) == 0
	table.is_attached(entry, route_key)
}

_pattern_miss(one, uncompared) := table.excess_message(one) if {
	true
} else := sprintf("%s is not compared with %s: the patterns of the routes for this host are too many", [one.part, table.shorten(one.expected)]) if {
	uncompared
} else := sprintf(_pattern_text(one.name), [one.name, one.actual, one.expected]) if {
	not regex.match(table.whole(one.expected), one.actual)
}

# Routes whose patterns, together with those of the others, are too many to compile.
_not_compared(entry, type) := routing.overweight({route_key: weight |
	some route_key in _routes_of_host(entry, type)
	patterns := {one.expected | some match in _matches(_precedence(entry), type, route_key); some one in match.patterns}
	weight := sum([table.pattern_weight(pattern) | some pattern in patterns; not table.excess(pattern)])
})

_pattern_text(name) := "%s %s does not match %s" if {
	name == "path"
} else := "%s is %s, which does not match %s"

_exact_text(name) := "%s %s is not exactly %s" if {
	name == "path"
} else := "%s is %s, not %s"

_common(one, other) := count([index |
	some index in numbers.range(0, min([count(one), count(other)]))
	startswith(one, substring(other, 0, index))
])

_refusing_listeners := array.slice(
	[candidate | some [_, candidate] in sort({[rank, candidate] |
		some gateway in table.gateways
		some node in table.listeners_of(gateway)
		reason := table.refusal(node)
		some rank, name in ["HostnameConflict", "ProtocolConflict", "HostnameDiffers", "PortDiffers", "ProtocolDiffers"]
		name == reason
		candidate := {"node": node, "reason": reason, "message": _listener_message(node)}
	})],
	0, routing.candidate_bound,
)

_listener_message(node) := hierarchy.unaccepted_message(node) if {
	table.refusal(node) in {"HostnameConflict", "ProtocolConflict"}
} else := sprintf("accepts %s on port %v for %s", [found.protocol, found.port, _host_named(table.hostname(node))]) if {
	found := hierarchy.listener(node)
}

_host_named(name) := "any hostname" if {
	name == "*"
} else := name

# If no route of the host is attached: those that the listener rejects, then those that name another one, or else routes of
# other hostnames.
_near(entry) := [one | some elsewhere in [false, true]; some one in hosted; one.reason == "OtherListener" == elsewhere] if {
	hosted := [object.union({"node": route_key}, _why_not(entry, route_key)) |
		some type in _types(entry)
		some route_key in array.slice(sort(_routes_of_host(entry, type)), 0, routing.candidate_bound)
	]
	count(hosted) > 0
} else := [{"node": route_key, "reason": "ProtocolDiffers", "message": "serves gRPC calls only"} |
	some route_key in array.slice(sort(calls_only), 0, routing.candidate_bound)
] if {
	calls_only := {route_key | some route_key in _routes_of_host(entry, requests.grpc_type); table.is_attached(entry, route_key)}
	count(calls_only) > 0
} else := _of_other_hosts(entry)

_why_not(entry, route_key) := {"reason": reason, "message": message} if {
	[_, reason, message] := min({[link.parent, link.reason, link.message] |
		some link in hierarchy.rejected_above(route_key)
		link.parent in {entry, keys.parse(entry).object}
	})
} else := {"reason": "OtherListener", "message": message} if {
	others := sort({keys.describe(node) | some node in hierarchy.parents(route_key)})
	message := [text |
		some text in array.concat(
			[sprintf("is attached to %s", [concat(", ", others)]) | others != []],
			["names another listener, and is attached to none"],
		)
	][0]
}

_of_other_hosts(entry) := [{"node": route_key, "reason": "HostnameDiffers", "message": message} |
	not _takes_any_host(entry)
	some name in _similar_names(entry)
	not name in requests.hostnames
	some parent in table.parents_of(entry)
	some path in index.some_served_paths(parent, name, "", 1)
	route_key := sort(index.routes_serving(parent, name, path))[0]
	message := sprintf("serves %s", [_host_named(name)])
]

# Those in the same domain, otherwise any.
_similar_names(entry) := [names |
	labels := split(requests.request.host, ".")
	some ending in [concat(".", array.slice(labels, max([count(labels) - 2, 0]), count(labels))), ""]
	found := [name | some parent in table.parents_of(entry); some name in index.some_served_names(parent, ending, routing.candidate_bound)]
	names := array.slice(found, 0, routing.candidate_bound)
	count(names) > 0
][0]

# Some routes of a type at an entry point whose hostnames cover the host, with the paths most similar to the
# request's: with the same first segments, then with the same first one, then any.
_routes_of_host(entry, type) := {route_key |
	some name in _names(entry)
	like := _paths_like(entry, name)
	paths := array.concat(like, [path | some path in ["/", "*"]; not path in like])
	some route_key in _routes_at(entry, type, name, array.slice(paths, 0, table.paths_regarded))
}

# The routes of a type that serve a hostname and one of these paths at an entry point, by declaration.
_routes_at(entry, type, name, paths) := {route_key |
	some parent in table.parents_of(entry)
	some path in paths
	some route_key in index.routes_serving(parent, name, path)
	startswith(route_key, concat("", [type, "/"]))
}

# A beginning is used only if no path has the previous one.
_paths_like(entry, name) := [paths |
	like_the_first := substring(_segments(2), 0, floor(count(_segments(2)) * 0.7))
	some beginning in [_segments(3), _segments(2), like_the_first, ""]
	found := [path | some parent in table.parents_of(entry); some path in index.some_served_paths(parent, name, beginning, table.paths_regarded)]
	paths := array.slice(found, 0, table.paths_regarded)
	count(paths) > 0
][0]

_segments(number) := concat("/", array.slice(split(requests.request.path, "/"), 0, number))

# The matches of the rules of a route, compared with the request: `{index, conditions, path, misses, patterns}`. `index` is
# the place of the rule; `misses` are the parts of the request that the match does not accept, `[part, message]`, and
# `patterns` the conditions that decide then.
_matches(precedence, type, route_key) := [{
	"index": index,
	"conditions": conditions,
	"path": object.get(match, ["path", "value"], "/"),
	"misses": {[one.part, message] | some one in conditions; message := _miss(one)},
	"patterns": {one | some one in conditions; one.type == "RegularExpression"; one.actual != null},
} |
	some index, rule in lookup.get(route_key).spec.rules
	some match in hierarchy.written_matches(rule)
	conditions := _compared(precedence, type, match)
]

_compared(precedence, type, match) := [object.union(one, {"actual": object.get(requests.request, one.at, null)}) |
	some one in matches.conditions_of(precedence, type, match)
]

# Why a condition that is not a pattern does not accept the request. A prefix consists of whole segments (HTTPPathMatch).
_miss(one) := sprintf("%s is missing", [one.name]) if {
	one.actual == null
} else := sprintf("path %s is not %s nor below it", [one.actual, one.expected]) if {
	one.type == "PathPrefix"
	not startswith(concat("", [one.actual, "/"]), concat("", [trim_right(one.expected, "/"), "/"]))
} else := sprintf(_exact_text(one.name), [one.name, one.actual, one.expected]) if {
	one.type == "Exact"
	one.actual != one.expected
} else := sprintf("path and query %s do not end with %s", [one.actual, one.expected]) if {
	one.type == "Suffix"
	not endswith(one.actual, one.expected)
}
