package bridge.proxies

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.scopes as acting

# Whether a proxy serves a rule: at each hostname that its route has in common with the listener, for each of its matches.

_shown := 3 # of the matches that a message names

# METADATA
# description: |
#   The rows about rules, whose facts have a `match`: what a proxy serves at a listener, compared with the route. They are not
#   about a policy.
rule_rows := [row | some node in input.targets; some row in rule_rows_of(node)]

# The first form is that of most rules, with fewer expressions.
rule_rows_of(node) := [_row_at(node, one.proxy, one.via, input.found[node])] if {
	[one] := input.found[node]
	_is_served(one)
} else := [_row_at(node, proxy, via, entries) |
	served := [one | some one in input.found[node]; _is_served(one)]
	some [proxy, via] in {[one.proxy, one.via] | some one in served}
	entries := [one | some one in served; one.proxy == proxy; one.via == via]
]

_is_served(one) if {
	object.get(one, "match", "none") != "none"
	one.via != ""
}

_row_at(node, proxy, via, entries) := object.union(row, {"target": node, "policyKind": "", "path": [via], "proxy": proxy}) if {
	row := _rule_row(node, via, entries, _hosts(index.facts(keys.object_of(node)).hostnames, via))
}

# METADATA
# description: Why the requests of a rule on a path may not be those at which the proxy has its policies, as texts.
rule_doubts(node, proxy, path) := [row.message |
	some row in rule_rows_of(node)
	row.proxy == proxy
	row.path[0] in path
	is_doubtful(row)
]

# METADATA
# description: Why the proxies of an implementation answer the requests of a rule themselves, as messages (see `effective.refusals`).
rejections(node) := {message | some [_, message] in refused_at(node)}

# METADATA
# description: |
#   The policies at a rule because of which the proxies answer its requests themselves, as `[policy, message]`, of all kinds,
#   because an answer of a proxy does not depend on the kind that a query asks for.
refused_at(node) := {refusal |
	some kind, _ in implementations.refusing
	kind in kinds.in_use
	acting.acts_at(kind, node)
	some entry in engine.policies_of(kind, node, "")
	some refusal in engine.refusals(entry)
}

is_doubtful(row) if row.state in {"missing in the proxy", "cannot be read"}

_rule_of(node) := {"type": keys.type_of(node), "matches": hierarchy.written_matches(hierarchy.rule_of(node))}

# The hostnames that a listener takes for a route with these (HTTPRouteSpec.hostnames).
_hosts(hostnames, via) := {host |
	listener := hierarchy.listener(via)
	some host in hierarchy.common_hostnames(hostnames, lower(object.get(listener, "hostname", "")))
	not hierarchy.is_isolated(keys.object_of(via), listener, [host])
}

# The first form is that of most rules, with fewer expressions.
_rule_row(node, via, entries, hosts) := _about_rule(served, served, "verified", "") if {
	rule := _rule_of(node)
	served := {[host, one.match] | some one in entries; some host in one.hosts}
	served == {[host, match] | some host in hosts; some match in _expected_conditions(rule)}
	served != set()
	every one in entries {
		one.late == false
		not one.answers
		is_array(one.match)
		input.families[one.family].unknown == []
	}
} else := _about_rule([], [], "cannot be read", "Policy Bridge doesn't know how the proxy matches requests of this rule") if {
	count(hosts) > 0
	rule := _rule_of(node)
	null in ({one.match | some one in entries} | _expected_conditions(rule))
} else := _about_rule(expected, served, state, message) if {
	count(hosts) > 0
	rule := _rule_of(node)
	expected := {[host, match] | some host in hosts; some match in _expected_conditions(rule)}
	unknown := [text | some one in entries; some text in input.families[one.family].unknown]
	first := {[host, one.match] | some one in entries; some host in one.hosts; not one.late}
	served := first | {[host, one.match] | some one in entries; some host in one.hosts}
	answers := {[status, why] |
		some one in entries
		[status, reason_of_proxy] := one.answers
		why := concat("; ", array.concat(sort(rejections(node)), [reason_of_proxy | rejections(node) == set()]))
	}
	[state, message] := _rule_state(expected, first, served, unknown, answers)
} else := _about_rule([], [], "cannot be read", "Policy Bridge doesn't know the listener of its routes") if {
	not hierarchy.listener(via)
}

_rule_state(expected, first, served, unknown, answers) := ["missing in the proxy", _message("the proxy does not serve", expected - served)] if {
	count(expected - served) > 0
} else := ["differs", _message("the proxy also serves", served - expected)] if {
	count(served - expected) > 0
} else := ["differs", sprintf("the proxy answers %d itself: %s", [status, why])] if {
	[status, why] := sort(answers)[0]
} else := ["cannot be read", _message("an earlier route of the proxy takes", expected - first)] if {
	count(expected - first) > 0
} else := ["cannot be read", unknown[0]] if {
	count(unknown) > 0
} else := ["verified", ""]

_message(text, places) := sprintf("%s %s%s", [text, concat(", ", array.slice(texts, 0, _shown)), more]) if {
	texts := _texts(places)
	more := _and_more(count(texts) - _shown)
}

_and_more(number) := sprintf(" and %d more", [number]) if {
	number > 0
} else := ""

# A match as people write it, `shop.example.com/cart/*`.
_texts(places) := sort([concat("", [host, concat(" ", [_text(condition) | some condition in _path_first(match)])]) | some [host, match] in places])

# A row that is not listed needs no texts.
_listed_texts(places, state) := _texts(places) if {
	state in listed_states
} else := []

_path_first(match) := array.concat([one | some one in match; one[0] == "path"], [one | some one in match; one[0] != "path"])

_text(["path", _, "Exact", value]) := value

_text(["path", _, "PathPrefix", value]) := sprintf("%s/*", [trim_suffix(value, "/")])

_text(["path", _, "RegularExpression", value]) := sprintf("~%s", [value])

_text([part, name, "Exact", value]) := sprintf("%s %s=%s", [part, name, value]) if part != "path"

_text([part, name, "RegularExpression", value]) := sprintf("%s %s~%s", [part, name, value]) if part != "path"

_text([part, name, "Suffix", value]) := sprintf("%s %s=*%s", [part, name, value])

_about_rule(expected, served, state, message) := {
	"field": "(rule)",
	"expected": _listed_texts(expected, state),
	"actual": _listed_texts(served, state),
	"policies": [],
	"state": state,
	"message": message,
}

# The conditions of a rule's matches in the form of `envoy.match`; null for a match of another form.
_expected_conditions(rule) := {_conditions(rule.type, match) | some match in rule.matches}

# The first form is that of most matches, with fewer expressions.
_conditions(type, {"path": written}) := [["path", "", path[0], path[1]]] if {
	path := _path(type, {"path": written})
} else := _written_conditions(type, {"path": written})

_conditions(type, match) := _written_conditions(type, match) if object.keys(match) != {"path"}

_written_conditions(type, match) := sort(array.flatten([
	[["path", "", path[0], path[1]]],
	[["header", ":method", "Exact", match.method] | type == "gateway.networking.k8s.io/HTTPRoute"; match.method],
	[["header", name, _type_of(one), one.value] | some name, one in _first_by_name(object.get(match, "headers", []), true)],
	[["query", name, _type_of(one), one.value] | some name, one in _first_by_name(object.get(match, "queryParams", []), false)],
	[["header", ":path", "Suffix", sprintf("/%s", [match.method.method])] | _is_of_any_service(type, match)],
])) if {
	path := _path(type, match)
} else := null

_type_of(one) := object.get(one, "type", "Exact")

# If several have one name, the first one is compared (HTTPHeaderMatch, HTTPQueryParamMatch).
_first_by_name(items, folded) := {name: [one | some one in items; _name(one, folded) == name][0] |
	some item in items
	name := _name(item, folded)
}

_name(item, true) := lower(item.name)

_name(item, false) := item.name

_path("gateway.networking.k8s.io/HTTPRoute", match) := [type, _prefix(type, object.get(match, ["path", "value"], "/"))] if {
	type := object.get(match, ["path", "type"], "PathPrefix")
}

_path("gateway.networking.k8s.io/GRPCRoute", match) := ["PathPrefix", "/"] if not match.method

_path("gateway.networking.k8s.io/GRPCRoute", match) := ["PathPrefix", "/"] if _is_of_any_service("gateway.networking.k8s.io/GRPCRoute", match)

_path("gateway.networking.k8s.io/GRPCRoute", match) := [object.get(match.method, "type", "Exact"), sprintf("/%s/%s", [match.method.service, match.method.method])]

_path("gateway.networking.k8s.io/GRPCRoute", match) := ["PathPrefix", sprintf("/%s", [match.method.service])] if {
	not match.method.method
	object.get(match.method, "type", "Exact") == "Exact"
}

# A match by the name of a method alone.
_is_of_any_service("gateway.networking.k8s.io/GRPCRoute", match) if {
	match.method.method
	not match.method.service
	object.get(match.method, "type", "Exact") == "Exact"
}

# A prefix without its last slash means the same (HTTPPathMatch).
_prefix("PathPrefix", value) := trim_suffix(value, "/") if value != "/"

_prefix(type, value) := value if not _is_longer_prefix(type, value)

_is_longer_prefix("PathPrefix", value) if value != "/"
