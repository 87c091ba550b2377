# METADATA
# title: Answers
# description: |
#   What an OPA with the answers of a view looks up, by object, as `[path, value]` below `data.bridge_answers`: effective
#   policies, the listeners that take requests, the matches of their routes, and what a rule does with a request.
package bridge.answers

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.queries
import data.bridge.request as requests
import data.bridge.scopes

# METADATA
# description: |
#   The effective targets at or below each node of an object that are in the view, `["targets", node]`; other spellings of
#   a node have them too.
of_targets(object_key) := {[["targets", spelling], found] |
	some spelling in _spellings(object_key)
	hierarchy.canonical_key(spelling)
	found := [scope | some scope in queries.scopes_at([spelling]); keys.object_of(scope[0]) in _inside]
}

_spellings(object_key) := ({object_key, keys.frontend(object_key)} | hierarchy.sections(object_key)) | {keys.section(object_key, text) |
	some text in array.concat(
		[sprintf("[%d]", [place]) | levels.of(object_key) == "Route"; some place, _ in lookup.get(object_key).spec.rules],
		[sprintf("%d", [port.port]) | levels.of(object_key) == "Backend"; some port in hierarchy.ports(object_key)],
	)
}

# METADATA
# description: |
#   All of an object: `of_targets`, `["rows", target, kind]`, for a Gateway `["entries", gateway, mode, hostname]`, for a
#   listener `["listeners", node]`, and for a route what `_matches` and `_rules` have. With `failure`, an error, all its
#   effective policies are that error: their evaluation fails, and without them an edge would answer that there are none.
of_object(object_key) := union({of_targets(object_key), _rows(object_key), _of_level(levels.of(object_key), object_key)})

_rows(object_key) := {[["rows", node, kind], paths] |
	some node in ({object_key, keys.frontend(object_key)} | hierarchy.sections(object_key))
	some kind in kinds.in_use
	scopes.acts_at(kind, node)
	paths := _paths(kind, node)
	paths != []
}

_paths(kind, node) := _failed(node) if {
	input.failure
} else := [entry | some entry in effective.listed_policies_of(kind, node, ""); _is_inside(entry.path)]

_failed(node) := [{"path": [node], "error": input.failure, "policies": []}]

# Of paths to a backend, those through routes of the view only.
_is_inside(path) if {
	every node in path {
		keys.object_of(node) in _inside
	}
}

_inside := {key | some key in input.within} | {hierarchy.path_bound_mark}

default _of_level(_, _) := set()

_of_level("Gateway", gateway) := _listeners(gateway) | {[["entries", gateway, mode, name], entries] |
	names := {requests.hostname(node) | some node in requests.listeners_of(gateway)} | {"*"}
	some mode, message in _modes
	some name in names
	places := requests.entries with input as object.union_n([object.filter(input, ["changes"]), message, {"gateway": gateway, "host": replace(name, "*", "_")}])
	entries := sort({array.concat(order, [port, transport]) |
		some [_, port, transport], nodes in places
		some node in nodes
		order := array.slice(requests.entry_order(node, implementations.specification), 1, 4)
	})
}

_of_level("ListenerSet", listener_set) := _listeners(listener_set)

_of_level("Route", route_key) := union({_matches(route_key), _hosts(route_key), _rules(route_key)})

# Requests of each kind for which a Gateway has other listeners. The host `_.example.com` is of no other wildcard and has
# no name of its own, so it stands for all that only `*.example.com` covers.
_modes := object.union({"default": {}}, {protocol: {"protocol": protocol} | some protocol in ["HTTP", "HTTPS", "TLS", "TCP", "UDP"]})

_listeners(object_key) := {[["listeners", node], found] |
	some node in hierarchy.sections(object_key)
	listener := requests.listener(node)
	found := {
		"gateway": requests.gateway_of(node),
		"stream": listener.protocol in {"TLS", "TCP", "UDP"},
		"specificity": requests.specificity(requests.hostname(node)),
		"virtualHosts": requests.implementation(node).virtualHosts,
		"sharesHosts": implementations.shares_hosts(implementations.envoy, listener.protocol),
		"implementation": requests.implementation(node).name,
		"servesCallsByPath": requests.implementation(node).precedence == "Envoy Gateway",
		"name": keys.describe(node),
		"kinds": {"other": _kinds[node], "GRPC": _kinds_of_calls[node]},
		"warnings": requests.listener_warnings(node),
		"unserved": {"other": _unserved[node], "GRPC": _unserved_calls[node]},
	}
}

_unserved := {node: requests.unserved(node) | some node in _listener_nodes}

_kinds := {node: requests.route_kinds(requests.types(node)) | some node in _listener_nodes}

_listener_nodes := {node |
	some object_key in input.objects
	levels.of(object_key) in {"Gateway", "ListenerSet"}
	some node in hierarchy.sections(object_key)
}

# What differs for a gRPC call is evaluated once for all objects, because `with` empties OPA's caches.
_unserved_calls := found if found := _unserved with input.grpc as _call

_kinds_of_calls := found if found := _kinds with input.grpc as _call

_call := {"service": "", "method": ""}

# A route's matches by what finds them: `["matches", listener, protocol, hostname, path, match]`. `protocol` is GRPC for
# GRPCRoutes, and otherwise any; `path` is `=` and an exact path, a prefix with a slash at the end, a gRPC service, or
# `*`. `rank` is as in `request`, the lower the better, `otherRank` that of the other reading of the specification. `exact`, `ends` and `patterns` are values by their places
# in the request, `present` places; `counted` are places whose lengths are in the ranks `countedIn`, where patterns match. With `unknown`,
# a pattern is too heavy to be compiled.
_matches(route_key) := {[["matches", entry, _protocol(type), name, path, sprintf("%s#%d/%d%s", [route_key, index, place, mark])], found] |
	type := keys.type_of(route_key)
	some entry, types in _types_for_calls
	entry in hierarchy.parents(route_key)
	type in types
	some mark, readings in _readings_alike(type, requests.implementation(entry))
	precedence := [reading.precedence | some reading in readings][0]
	some index, rule in lookup.get(route_key).spec.rules
	some place, match in hierarchy.written_matches(rule)
	is_object(match)
	conditions := [object.union(one, {"actual": one.expected, "at": _place(type, one)}) | some one in requests.conditions_of(precedence, type, match)]
	path := _path(type, conditions, match)
	patterns := [one | some one in conditions; one.type == "RegularExpression"]
	ranks := {field: requests.match_rank(reading, type, conditions, route_key, index) | some field, reading in readings}
	some name in _hostnames(route_key)
	found := object.union_n([
		{field: array.concat(requests.host_rank(entry, readings[field], name), rank) | some field, rank in ranks},
		{
			"rule": sprintf("%s#%d", [route_key, index]),
			"exact": [[one.at, one.expected] | some one in conditions; one.type == "Exact"; not _is_of_path(type, one)],
			"ends": [[one.at, one.expected] | some one in conditions; one.type == "Suffix"],
			"present": [one.at | some one in conditions; not one.type in {"Exact", "Suffix"}; not _is_of_path(type, one)],
			"patterns": [[one.at, sprintf("^(?:%s)$", [one.expected]), requests.pattern_weight(one.expected)] |
				some one in patterns
				not requests.excess(one.expected)
			],
			"patterned": patterns != [],
			"warnings": [requests.pattern_warning | requests.is_pattern_first(readings.rank, type, ranks.rank)],
		},
		{field: value |
			type == _grpc
			some one in patterns
			one.part == "path"
			some field, value in {
				"countedIn": [rank | some rank, reading in readings; reading.precedence == "Gateway API"],
				"counted": [[condition.at | some condition in conditions; condition.at == [part]] | some part in ["service", "rpc"]],
			}
		},
		{"unknown": min(reasons) |
			reasons := {requests.heavy_message(one) | some one in patterns; requests.excess(one.expected)} | {reason | reason := requests.delegation(route_key, index)}
			reasons != set()
		},
	])
}

# The readings of the specification by their ranks, in groups that compare the same parts of a request with a match of a
# route's type. Envoy Gateway compares paths, where others compare a call's service and method.
_readings_alike(type, own) := {"": {"rank": own}, "/other": {"otherRank": other}} if {
	other := _other_reading(own)
	type == _grpc
	"Envoy Gateway" in {own.precedence, other.precedence}
	own.precedence != other.precedence
} else := {"": {"rank": own, "otherRank": _other_reading(own)}}

# The reading of the specification with which answers at an entry point are compared (see `requests.reading_warning`).
_other_reading(own) := implementations.specification if {
	own.virtualHosts
} else := implementations.envoy

# `["hosts", listener, protocol, hostname]`: a route is attached there, even one without rules.
_hosts(route_key) := {[["hosts", entry, _protocol(type), name], true] |
	type := keys.type_of(route_key)
	some entry, types in _types_for_calls
	entry in hierarchy.parents(route_key)
	type in types
	some name in _hostnames(route_key)
}

_grpc := "gateway.networking.k8s.io/GRPCRoute"

_protocol(type) := object.get({_grpc: "GRPC"}, type, "any")

_hostnames(route_key) := {lower(name) | some name in hostnames} | {"*" | count(hostnames) == 0} if {
	hostnames := object.get(lookup.get(route_key).spec, "hostnames", [])
}

# The place of a condition's value in a request.
_place(type, one) := [field, trim_prefix(one.name, concat("", [one.part, " "]))] if {
	field := {"header": "headers", "query parameter": "query"}[one.part]
} else := ["pathAndQuery"] if {
	one.type == "Suffix"
} else := [one.name] if {
	one.name != "method"
} else := [{true: "rpc", false: "method"}[type == _grpc]]

_is_of_path(type, one) if {
	type != _grpc
	one.part == "path"
	one.type != "RegularExpression"
}

_path(type, conditions, match) := {"Exact": concat("", ["=", path.expected]), "PathPrefix": concat("", [trim_right(path.expected, "/"), "/"])}[path.type] if {
	type != _grpc
	path := conditions[0]
} else := match.method.service if {
	type == _grpc
	object.get(match.method, "type", "Exact") == "Exact"
	match.method.service != ""
} else := "*"

# What happens to a request that a rule of a route serves: `["rules", listener, rule]`.
_rules(route_key) := {[["rules", entry, sprintf("%s#%d", [route_key, index])], found] |
	some entry, _ in _types_for_calls
	entry in hierarchy.parents(route_key)
	some index, name in hierarchy.section_names(route_key)
	rule := keys.section(route_key, name)
	backends := requests.backends(route_key, index)
	filter_backends := requests.filter_backends(route_key, index)
	answer := {
		"gateway": requests.gateway_of(entry),
		"listener": entry,
		"route": route_key,
		"rule": rule,
		"backends": backends,
		"filters": requests.filters(entry, route_key, index),
		"filterBackends": filter_backends,
		"policies": _policies(entry, rule, array.concat(backends, filter_backends)),
		"nearest": null,
		"undecided": [],
	}
	found := {"answer": answer, "failure": {"other": _failures[route_key][index], "GRPC": _failures_of_calls[route_key][index]}}
}

_policies(entry, rule, backends) := [{"target": rule, "policyKind": kind, "paths": _failed(rule)} | some kind in sort(kinds.in_use)] if {
	input.failure
} else := requests.policies(entry, rule, requests.reachable_backends(backends))

_failures := {route_key: [requests.failure(route_key, rule, requests.backends(route_key, index), requests.filter_backends(route_key, index)) | some index, rule in lookup.get(route_key).spec.rules] |
	some route_key in input.objects
	levels.of(route_key) == "Route"
}

_failures_of_calls := found if found := _failures with input.grpc as _call

# By each listener that one of the routes is attached to, the types of routes that may serve a gRPC call there; those of
# other requests are among them in the same order.
_types_for_calls := found if found := _types with input.grpc as _call

_types[entry] := requests.types(entry) if {
	some route_key in input.objects
	levels.of(route_key) == "Route"
	some entry in hierarchy.parents(route_key)
	not keys.is_frontend(entry)
}
