# METADATA
# title: Effective targets
# description: |
#   What a guardrail judges: the listeners of a Gateway, the rules of a route, or another object of the hierarchy itself,
#   once for each path, with everything that is in effect there. A policy is a target too, with its conditions.
package bridge.effective_targets

import data.bridge.attachment
import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.merge
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.scopes
import data.bridge.status as reporting

# METADATA
# description: |
#   The targets at each object, by `<group>/<Kind>`, namespace (`-` without one) and name. One evaluation for all
#   guardrails; OPA computes only the objects that a query names.
by_object[type][namespace][name] := _targets_at(concat("/", [type, namespace, name])) if {
	_existing[type][namespace][name]
}

# METADATA
# description: The targets at one object.
at(key) := by_object[concat("/", [group, kind])][namespace][name] if [group, kind, namespace, name] := split(key, "/")

# Whether there is an object. A query about one object reads no other of its namespace.
_existing[type][namespace][name] if {
	some type in lookup.types
	[group, kind] := split(type, "/")
	data.objects[group][kind][namespace][name].kind
	lookup.has_object(concat("/", [type, namespace, name]))
}

_existing[concat("/", [group, kind])][namespace][name] if {
	some key, _ in lookup.upserts
	[group, kind, namespace, name] := split(key, "/")
}

_targets_at(object_key) := input.targets_at[object_key] if {
	true
} else := [object.union(identified, {"target": object_key, "path": [object_key], "labels": {}, "policies": {}, "conditions": conditions})] if {
	kinds.of_policy(object_key)
	identified := _identified(object_key)
	conditions := reporting.outcome_conditions(object_key, outcomes.tallies(object_key))
} else := _targets_of(_nodes(object_key)) if {
	levels.of(object_key) != "Namespace"
	hierarchy.has_place(object_key)
} else := []

_targets_of(nodes) := [_target(node, path) |
	some node in nodes
	some path in sort(hierarchy.paths(node, false))
	hierarchy.counts_for(path, "")
]

# METADATA
# description: |
#   The same targets as guardrails judge them: with `before`, what was in effect there before the change of the query, or
#   where the requests went that now go there.
judged[type][namespace][name] := [object.union(target, before) |
	object_key := concat("/", [type, namespace, name])
	former := _before(object_key)
	targets := by_object[type][namespace][name]
	some target in array.concat(targets, _targets_of(_former_ports(object_key, former, targets)))
	before := {"before": _former_policies(_as_named_before(target, former), former) | input.changes}
] if {
	_existing[type][namespace][name]
}

# The targets before the change of the query, which these are, and the same by target and path as JSON; empty without a change. A query
# about many objects has them as `input.before`, because each evaluation with another input drops what OPA has cached.
_before(object_key) := {} if {
	not input.changes
} else := _by_path(input.before[object_key]) if {
	true
} else := _by_path(targets) if {
	targets := at(object_key) with input as {"identified": true}
} else := {}

_by_path(targets) := {
	"all": targets,
	"named": {target.target: true | some target in targets},
	"by_path": {json.marshal([target.target, target.path]): target | some target in targets},
}

# The ports that policies named before the change and none names after it.
_former_ports(object_key, former, targets) := {node |
	levels.of(object_key) == "Backend"
	some other in former.all
	contains(other.target, "#")
	node := hierarchy.canonical_key(other.target)
} - {target.target | some target in targets}

# A target, or its Service if no policy named the port before: what was in effect for that was so at all of its ports.
_as_named_before(target, former) := target if {
	not hierarchy.is_port(target.target)
} else := target if {
	former.named[target.target]
} else := object.union(target, {"target": object_key, "path": [node | some node in target.path; node != target.target], "sections": [""]}) if {
	object_key := keys.object_of(target.target)
}

# The policies on the same path. On a path that is new, what was in effect for the same section on any path, those of its
# Gateway first. On a path with other requests than before, also what was in effect for these elsewhere.
_former_policies(target, former) := same.policies if {
	same := former.by_path[json.marshal([target.target, target.path])]
	[same.hostnames, same.sections] == [target.hostnames, target.sections]
} else := same.policies if {
	same := former.by_path[json.marshal([target.target, target.path])]
	_new_hostnames(target, same) == []
	_new_sections(target, same) == []
} else := _together(array.concat([same], _former_of_new_requests(target, same, former))) if {
	same := former.by_path[json.marshal([target.target, target.path])]
} else := _together(_nearest(target, _former_paths(target, former))) if {
	former.all
} else := {}

_former_of_new_requests(target, same, former) := array.concat(
	[other |
		hostnames := _new_hostnames(target, same)
		some other in former.all
		other != same
		_shares(other, same.sections)
		_serves_some(other, hostnames)
	],
	_nearest(target, [other |
		sections := _new_sections(target, same)
		some other in former.all
		_shares(other, sections)
	]),
)

# What a section matches and did not match before.
_new_sections(target, former) := [section | some section in target.sections; not section in former.sections]

_shares(target, sections) if {
	some section in sections
	section in target.sections
}

# The targets on the same path above the section; without any, those at the same Gateway, or all.
_nearest(target, others) := [found |
	found := [[other | some other in others; _above(other.path) == _above(target.path)], [other | some other in others; other.gateway == target.gateway], others][_]
	found != []
][0] if {
	others != []
} else := []

_above(path) := array.slice(path, 0, count(path) - 1)

_new_hostnames(target, former) := [name |
	some name in target.hostnames
	not _is_served(name, former.hostnames)
]

_is_served(name, hostnames) if {
	some other in hostnames
	covers(other, name)
}

_serves_some(target, hostnames) if {
	some name in hostnames
	some other in target.hostnames
	_narrower(name, other)
}

# The former targets on any path for the same section, by its name or by what it matches; otherwise those of sections that
# no longer exist.
_former_paths(target, former) := same if {
	same := [other | some other in former.all; _shares(other, target.sections)]
	same != []
} else := [other |
	[group, kind, namespace, name] := split(keys.object_of(target.target), "/")
	left := {one.target | some one in by_object[concat("/", [group, kind])][namespace][name]}
	some other in former.all
	not other.target in left
]

# What is in effect at several targets together, by policy kind.
_together(targets) := targets[0].policies if {
	count(targets) == 1
} else := {kind: effect |
	some kind in {kind | some target in targets; some kind, _ in target.policies}
	effect := _united([found | some target in targets; found := target.policies[kind]])
}

_united(effects) := effects[0] if {
	count({json.marshal(effect) | some effect in effects}) == 1
} else := {
	"unknown": concat("; ", sort(unknown)),
	"policies": sort({policy | some effect in effects; some policy in effect.policies}),
	"known": _listed_together([known | some effect in effects; known := object.get(effect, "known", effect); not known.unknown]),
} if {
	unknown := {why | some effect in effects; why := effect.unknown}
	unknown != set()
} else := _listed_together(effects)

_listed_together(effects) := {
	"spec": [spec | some [spec, _] in parts],
	"origins": {sprintf("/%d", [place]): policies_there | some place, [_, policies_there] in parts},
	"outcomes": object.union_n([outcomes_there | some effect in effects; outcomes_there := effect.outcomes]),
	"targets": object.union_n([targets_there | some effect in effects; targets_there := effect.targets]),
} if {
	parts := [part | some effect in effects; some part in _parts(effect)]
}

# As where every policy applies: the specs, each with all policies that it comes from.
_parts(effect) := [[effect.spec, sort({policy | some origin in effect.origins; some policy in merge.as_list(origin)})]] if {
	is_object(effect.spec)
} else := [[spec, merge.as_list(effect.origins[sprintf("/%d", [place])])] | some place, spec in effect.spec] if {
	is_array(effect.spec)
} else := []

# The accepted listeners or the rules of an object, or the object itself, for a backend also the ports that policies name.
_nodes(object_key) := sections if {
	levels.of(object_key) != "Backend"
	sections := hierarchy.accepted_sections(object_key)
	count(sections) > 0
} else := {object_key} | _named_ports(object_key)

_named_ports(object_key) := {node |
	some policy in attachment.permitted_policies_targeting(object_key)
	kinds.of_policy(policy)
	some ref in policies.named_refs(policy)
	ref.object == object_key
	contains(ref.key, "#")
	node := hierarchy.canonical_key(ref.key)
} if {
	levels.of(object_key) == "Backend"
} else := set()

_target(node, path) := object.union(_described(_without_rule(node, path)), object.union_n([
	{"target": node, "path": path, "policies": {kind: effect | some kind in kinds.in_use; effect := _effect(kind, path)}},
	{"rule": node | levels.of(node) == "Rule"},
	_identified(node),
]))

# For a comparison with another state, by what a target is the same there: `sections` has the name of its section and
# what that matches, the requests of a rule, and the port and hostname of a listener.
_identified(node) := {"sections": [""]} if {
	_compares
	not contains(node, "#")
} else := {"sections": array.concat(named, sort(matches))} if {
	_compares
	[object_key, name] := split(node, "#")
	matches := _matches(levels.of(node), object_key, name)
	named := [concat("", ["#", name]) | not _is_numbered(name, matches)]
} else := {}

# The query compares targets with those of another state, or with those before its change.
_compares if input.identified

_compares if input.changes

_matches("Rule", object_key, name) := {json.marshal(match) |
	some place, other in hierarchy.section_names(object_key)
	other == name
	some match in _or_default(lookup.get(object_key).spec.rules[place])
}

_matches("Listener", object_key, name) := {json.marshal([listener.port, lower(object.get(listener, "hostname", ""))]) |
	some listener in lookup.get(object_key).spec.listeners
	listener.name == name
}

_matches("Port", _, _) := set()

_or_default(rule) := rule.matches if {
	count(rule.matches) > 0
} else := ["any"]

# A rule without a name has the number of its place, which another rule may have after a change.
_is_numbered(name, matches) if {
	startswith(name, "[")
	matches != set()
}

# All rules of a route have what is above them in common.
_without_rule(node, path) := array.slice(path, 0, count(path) - 1) if {
	levels.of(node) == "Rule"
} else := path

_described(path) := object.union(place, {
	"labels": {key: _labels(key) | some key in (objects | namespaces)},
	"hostnames": _hostnames(place, [on | some on in path; levels.of(on) == "Route"]),
}) if {
	place := object.union_n([{_fields[levels.of(on)]: on} | some on in path; _fields[levels.of(on)]])
	objects := {keys.object_of(on) | some on in path}
	namespaces := {keys.format("", "Namespace", "", namespace) |
		some key in objects
		namespace := keys.namespace(key)
		namespace != ""
	}
}

_fields := {
	"Gateway": "gateway",
	"Listener": "listener",
	"Route": "route",
	"Rule": "rule",
	"Backend": "backend",
}

_labels(key) := lookup.namespace_labels(keys.parse(key).name) if {
	startswith(key, "core/Namespace/")
} else := labels if {
	labels := lookup.get(key).metadata.labels
} else := {}

# What a policy kind has in effect for the traffic of a path: at the most specific node of the path where it has something.
# `unknown` says why it cannot be computed or is incomplete, and `known` has what is in effect apart from that. Undefined if
# no policy is in effect.
_effect(kind, path) := {"unknown": policies.excess(unread[0]), "policies": unread} if {
	unread := sort({policy | some policy in _unread_on(path); keys.type_of(policy) == kind})
	unread != []
} else := _reported([entry |
	some node in array.reverse(path)
	scopes.acts_at(kind, node)
	some entry in engine.policies_of(kind, node, "")
	_is_on_path(kind, entry.path, path)
][0])

# The policies above a bound that name an object on a path. Another controller than the bridge may obey them all the same.
_unread_on(path) := {policy |
	some object_key in (objects | namespaces)
	some policy in index.policies_at("oversized", object_key)
	kinds.of_policy(policy).mode == "Observe"
} if {
	index.has_oversized
	objects := {keys.object_of(node) | some node in path}
	namespaces := {keys.format("", "Namespace", "", namespace) | some key in objects; namespace := keys.namespace(key); namespace != ""}
} else := set()

_is_on_path(kind, whole, path) if {
	array.slice(path, 0, count(whole)) == whole
} else if {
	kinds.is_direct(kind)
} else if {
	nodes := [node | some node in whole; not startswith(node, "core/Namespace/")]
	nodes == array.slice(path, 0, count(nodes))
}

_reported(entry) := object.union({"unknown": why, "policies": policies}, {"known": known | known := _in_effect(entry)}) if {
	why := engine.unknown_because(entry)
	policies := [one.policy | some one in entry.policies]
} else := _in_effect(entry)

_in_effect(entry) := {
	"spec": entry.spec,
	"origins": entry.origins,
	"outcomes": {one.policy: one.outcome | some one in entry.policies},
	"targets": {one.policy: one.target | some one in entry.policies},
}

# The hostnames of the requests at a route and a listener: those of the route that the listener serves (Gateway API,
# HTTPRouteSpec.hostnames); a route to which another one delegates has those of the first. `*` is any.
_hostnames(place, routes) := hierarchy.common_hostnames(own, served) if {
	own := [lower(name) | some name in lookup.get(routes[0]).spec.hostnames]
	served := array.concat([name | name := _listener_hostname(place.listener)], [""])[0]
}

_listener_hostname(node) := name if {
	[object_key, section] := split(node, "#")
	some listener in lookup.get(object_key).spec.listeners
	listener.name == section
	name := lower(listener.hostname)
	name != ""
}

_narrower(one, other) := one if {
	covers(other, one)
} else := other if {
	covers(one, other)
}

# METADATA
# description: "A hostname, which may begin with `*.` or be `*`, covers another one."
covers("*", _)

covers(hostname, hostname)

covers(wildcard, hostname) if hierarchy.is_below_wildcard(hostname, wildcard)

# METADATA
# description: |
#   What a rule matches, in one of the `sections` of a target; undefined for others. `{}` matches each request.
match_in(`"any"`) := {}

match_in(text) := json.unmarshal(text) if startswith(text, "{")

# METADATA
# description: |
#   The violations that an admin's guardrail answers, for `reported`. What is not in the form of a violation is one with a
#   message about that, and so is an answer that is no set and no list.
listed(answer) := {_formed(found) | some found in answer} if {
	type_name(answer) in {"array", "set"}
} else := {_formed(answer)}

_formed(found) := found if {
	is_object(found)
} else := {"message": sprintf("a violation is not an object with a message: %s", [json.marshal(found)])}

# METADATA
# description: |
#   A guardrail's violation in the form of a Constraint's, `{msg, details}`. `found` is `{message, severity?, field?,
#   policies?, extent?}`; `policies` are those at fault. `details` have an `identity` if the query compares states.
reported(target, found) := {
	"msg": sprintf("%s%s: %s", [_named(target.target), _via(target), message]),
	"details": object.union_n([
		{"target": target.target, "path": target.path, "severity": object.get(found, "severity", "high")},
		{"field": field | field := found.field},
		{"policies": sort(policies) | policies := {policy | some policy in found.policies}; count(policies) > 0},
		{"identity": {"sections": target.sections, "extent": object.get(found, "extent", message)} | input.identified; target.sections},
	]),
} if {
	message := _message(found)
}

_message(found) := found.message if {
	is_string(found.message)
} else := sprintf("a violation has no message: %s", [json.marshal(found)])

_named(node) := sprintf("%s %s", [lower(levels.of(node)), keys.parse(node).section]) if {
	contains(node, "#")
} else := keys.describe(node)

# The listener or Gateway above the target; for a backend also the rule.
_via(target) := sprintf(" via %s", [concat(" > ", [keys.describe(node) | some node in above])]) if {
	doors := [node | some field in ["listener", "gateway"]; node := target[field]; node != target.target]
	above := array.concat(array.slice(doors, 0, 1), [target.rule | target.backend == keys.object_of(target.target)])
	above != []
} else := ""

# METADATA
# description: |
#   Why nothing can be judged by parameters: a `kind` that is not a policy kind, or a `field` that is not a JSON pointer
#   into the spec proper. Without this, a misspelled name would pass everything.
misspelled(kind, field) := _misspellings(kind, field)[0]

# A list, empty if there is none: OPA computes that once for all targets, but what is undefined each time.
_misspellings(kind, field) := [sprintf("parameters: unknown policy kind %v", [kind])] if {
	not kinds.get(kind)
} else := [sprintf("parameters: the field must be a JSON pointer such as /a/b, not %v", [field])] if {
	not startswith(field, "/")
} else := [sprintf("parameters: %s", [message]) | message := kinds.misplaced_field(kind, field)]

# METADATA
# description: |
#   The answers of a guardrail about one `field` of a `kind` that cannot judge what is in effect, because these parameters
#   are misspelled, it is unknown, or it has no such field. Undefined if it can.
unknown(effect, parameters) := {{"message": message, "severity": "unknown"}} if {
	message := misspelled(object.get(parameters, "kind", ""), object.get(parameters, "field", ""))
} else := {{"message": sprintf("%s is unknown: %s", [parameters.kind, effect.unknown]), "severity": "unknown"}} if {
	true
} else := {{"message": sprintf("%s of %s cannot be judged: %s", [leaves.dotted(parameters.field), split(parameters.kind, "/")[1], why]), "severity": "unknown"}} if {
	why := engine.obstacle(effect, parameters.field)
}

# METADATA
# description: What is in effect of the `kind` of parameters, `{}` for nothing.
effect(policies, parameters) := object.get(policies, object.get(parameters, "kind", ""), {})

# METADATA
# description: A key as messages show it.
described(key) := keys.describe(key)
