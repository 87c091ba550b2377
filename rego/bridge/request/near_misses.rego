package bridge.request

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup

# The result if routes of the host are attached and none of their rules matches.
_no_matching_rule(entry) := {
	"reached": "Route",
	"reason": "NoMatchingRule",
	"message": sprintf("No rule of the routes for %s matches", [request.host]),
	"candidates": array.slice([candidate | some [_, candidate] in sort(misses)], 0, _candidate_bound),
} if {
	misses := {[[count(parts), rank], candidate] |
		some type in types(entry)
		some route_key in routes_of_host(entry, type)
		is_attached(entry, route_key)
		some index, rule in lookup.get(route_key).spec.rules
		[parts, rank] := _best_miss(type, rule, route_key in _not_compared(entry, type))
		node := keys.section(route_key, hierarchy.section_names(route_key)[index])
		candidate := {"node": node, "reason": "NoMatch", "message": concat("; ", [message | some [_, message] in parts])}
	}
	count(misses) > 0
}

# The match of a rule with the fewest differences; a longer common path is nearer.
_best_miss(type, rule, uncompared) := [sort(parts), rank] if {
	[_, rank, parts] := sort({[count(parts), rank, parts] |
		some match in matches(rule)
		parts := plain_misses(type, match) | {[one.part, message] |
			some one in patterns(type, match)
			message := _pattern_miss(one, uncompared)
		}
		rank := 0 - _common(request.path, path_of(match).value)
	})[0]
}

_pattern_miss(one, uncompared) := heavy_message(one) if {
	is_too_heavy(one.pattern)
} else := sprintf("%s is not compared with %s: the patterns of the routes for this host are too many", [one.part, shorten(one.pattern)]) if {
	uncompared
} else := sprintf("%s does not match %s", [one.says, one.pattern]) if {
	not matches_whole(one.pattern, one.text)
}

# Routes whose patterns, together with those of the others, are too many to compile.
_not_compared(entry, type) := overweight_routes({route_key: found |
	some route_key in routes_of_host(entry, type)
	found := {one.pattern |
		some rule in lookup.get(route_key).spec.rules
		some match in matches(rule)
		some one in patterns(type, match)
	}
	count(found) > 0
})

_common(one, other) := count([index |
	some index in numbers.range(0, min([count(one), count(other)]))
	startswith(one, substring(other, 0, index))
])

# The maximum number of candidates in a result.
_candidate_bound := 5

# METADATA
# description: |
#   The progress of a request that no rule serves, `{reached, reason, message, candidates}`: `reached` is Nothing,
#   Gateway, Listener or Route; the candidates are the nearest nodes there, `{node, reason, message}`.
nearest := {"reached": "Nothing", "reason": "NoGateway", "message": "There is no Gateway", "candidates": []} if {
	count(gateways) == 0
} else := _no_listener if {
	count(entry_points) == 0
} else := found if {
	found := [no_rule | some entry in entry_points; no_rule := _no_matching_rule(entry)][0]
} else := _no_route(entry_points[0])

# METADATA
# description: The same if rules are undecided, so the serving rule is unknown.
undecided_answer(rules) := {
	"reached": "Route",
	"reason": "CannotTell",
	"message": sprintf("Cannot tell: %s may serve it, and its pattern is not compiled", [_short(rules[0].node)]),
	"candidates": [object.union(rule, {"reason": "PatternNotCompiled"}) | some rule in rules],
}

_no_listener := {
	"reached": "Gateway",
	"reason": "NoListener",
	"message": sprintf("No listener accepts %s", [_described]),
	"candidates": array.slice(
		[candidate | some [_, candidate] in sort({[rank, candidate] |
			some gateway in gateways
			some node in listeners_of(gateway)
			reason := listener_refusal(node)
			some rank, name in ["HostnameConflict", "ProtocolConflict", "HostnameDiffers", "PortDiffers", "ProtocolDiffers"]
			name == reason
			candidate := {"node": node, "reason": reason, "message": _listener_message(node)}
		})],
		0, _candidate_bound,
	),
}

_listener_message(node) := hierarchy.unaccepted_message(node) if {
	listener_refusal(node) in {"HostnameConflict", "ProtocolConflict"}
} else := sprintf("accepts %s on port %v for %s", [found.protocol, found.port, _host_named(hostname(node))]) if {
	found := listener(node)
}

_host_named(name) := name if {
	name != "*"
} else := "any hostname"

_described := sprintf("%s%s%s", [request.protocol, _for_host, _on_port])

_for_host := sprintf(" for %s", [request.host]) if {
	request.host != ""
} else := ""

_on_port := sprintf(" on port %d", [request.port]) if {
	request.port != 0
} else := ""

# No route of the host is attached: candidates are those that the listener rejects, then routes of other hostnames.
_no_route(entry) := {
	"reached": "Listener",
	"reason": "NoRoute",
	"message": sprintf("No route%s is attached to %s", [_for_host, _short(entry)]),
	"candidates": _near(entry),
}

_near(entry) := _refused_at(entry) if {
	count(_refused_at(entry)) > 0
} else := _of_other_hosts(entry)

# Routes that name this listener come before those that name another one.
_refused_at(entry) := array.concat(
	[one | some one in _hosted_at(entry); one.reason != "OtherListener"],
	[one | some one in _hosted_at(entry); one.reason == "OtherListener"],
)

_hosted_at(entry) := [{"node": route_key, "reason": candidate[0], "message": candidate[1]} |
	some type in types(entry)
	some route_key in array.slice(sort(routes_of_host(entry, type)), 0, _candidate_bound)
	candidate := _why_not(entry, route_key)
]

_why_not(entry, route_key) := candidate[0] if {
	candidate := [[link.reason, link.message] |
		some link in hierarchy.rejected_links(route_key)
		link.child == route_key
		link.parent in {entry, keys.parse(entry).object}
	]
	count(candidate) > 0
} else := ["NoMatch", "has no rule"] if {
	entry in hierarchy.parents(route_key)
} else := ["OtherListener", sprintf("is attached to %s", [concat(", ", sort(others))])] if {
	others := {_short(node) | some node in hierarchy.parents(route_key)}
	count(others) > 0
} else := ["OtherListener", "names another listener, and is attached to none"]

_of_other_hosts(entry) := [{"node": route_key, "reason": "HostnameDiffers", "message": message} |
	not any_host(entry)
	some name in _similar_names(entry)
	some parent in entry_parents(entry)
	some path in index.some_served_paths(parent, name, "", 1)
	route_key := sort(index.routes_serving(parent, name, path))[0]
	message := sprintf("serves %s", [_host_named(name)])
]

# Those in the same domain, otherwise any.
_similar_names(entry) := same if {
	labels := split(request.host, ".")
	domain := concat(".", array.slice(labels, max([count(labels) - 2, 0]), count(labels)))
	same := _some_names(entry, domain)
	count(same) > 0
} else := _some_names(entry, "")

_some_names(entry, ending) := array.slice(
	[name | some parent in entry_parents(entry); some name in index.some_served_names(parent, ending, _candidate_bound)],
	0, _candidate_bound,
)

_short(node) := sprintf("%s %s%s", [parts.kind, keys.short(node), section]) if {
	parts := keys.parse(node)
	section := {true: "", false: concat("", ["#", parts.section])}[parts.section == ""]
}
