# METADATA
# title: Answers
# description: |
#   What an OPA with the answers of a view looks up, by object, as `[path, value]` below `data.bridge.table`: effective
#   policies, the listeners that take requests, the matches of their routes, and what a rule does with a request.
package bridge.answers

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.queries
import data.bridge.request as requests
import data.bridge.scopes
import data.bridge.table

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
	names := {table.hostname(node) | some node in table.listeners_of(gateway)} | {"*"}
	some mode, message in _modes
	some name in names
	orders := table.orders(gateway) with input as object.union_n([object.filter(input, ["changes"]), message, {"gateway": gateway, "host": replace(name, "*", "_")}])
	entries := [order | some order in orders; keys.object_of(order[2]) in _inside]
}

_of_level("ListenerSet", listener_set) := _listeners(listener_set)

_of_level("Route", route_key) := union({_matches(route_key), _hosts(route_key), _rules(route_key)})

# Requests of each kind for which a Gateway has other listeners. The host `_.example.com` is of no other wildcard and has
# no name of its own, so it stands for all that only `*.example.com` covers.
_modes := object.union({"default": {}}, {protocol: {"protocol": protocol} | some protocol in ["HTTP", "HTTPS", "TLS", "TCP", "UDP"]})

_listeners(object_key) := {[["listeners", node], table.about_listener(node)] | some node in hierarchy.sections(object_key)}

# A route's matches by where the table has them: `["matches", listener, bucket, hostname, path, id]`.
_matches(route) := {[["matches", node, requests.bucket(keys.type_of(route)), name, path, id], record] |
	some node in _listeners_above(route)
	own := table.implementation(node)
	some [path, index, place, match] in table.written(route)
	some id, record in table.records(own, route, index, place, match)
	some name in _hostnames(route)
}

# `["hosts", listener, bucket, hostname]`: a route is attached there, even one without rules.
_hosts(route) := {[["hosts", node, requests.bucket(keys.type_of(route)), name], true] |
	some node in _listeners_above(route)
	some name in _hostnames(route)
}

_hostnames(route) := {lower(name) | some name in hostnames} | {"*" | count(hostnames) == 0} if {
	hostnames := object.get(lookup.get(route).spec, "hostnames", [])
}

# An edge does not answer about requests to frontends, and does not follow requests through delegating rules.
_listeners_above(route) := {node |
	some node in hierarchy.parents(route)
	levels.of(node) == "Listener"
}

# What happens to a request that a rule of a route serves: `["rules", listener, route, place]` and `["served", …]`.
_rules(route) := {entry |
	some node in _listeners_above(route)
	some index, _ in lookup.get(route).spec.rules
	rule := table.rule_of(node, route, index)
	place := [node, route, sprintf("%d", [index])]
	some entry in [
		[array.concat(["rules"], place), rule],
		[array.concat(["served"], place), _served(node, rule.rule, table.results_of(node, route, index))],
	]
}

_served(node, rule, results) := object.union(results, {"policies": [{"target": rule, "policyKind": kind, "paths": _failed(rule)} | some kind in sort(kinds.in_use)]}) if {
	input.failure
} else := object.union(results, {"policies": table.policies([node], rule, results)})
