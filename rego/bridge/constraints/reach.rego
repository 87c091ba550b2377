package bridge.constraints

import data.bridge.effective
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lookup

# METADATA
# description: |
#   Why a Constraint can never judge what its match, an entry of its parameterSelection or its parameters name, at most ten
#   messages: a text that is no kind or group; for a guardrail also a misspelled kind, group or field, a scope that the kinds
#   do not have, an entry for other kinds than the match's, or a policy kind that is never in effect at what the match selects.
unreachable(spec) := array.slice(sort((((_malformed_matches(spec) | {sprintf("%s: %s", found) | some found in _unknown_matches(spec, _judged_types)}) | (_wrong_scope(spec) | _other_kinds(spec))) | (_unknown_parameters(spec) | _never_in_effect(spec)))), 0, 10) if {
	is_guardrail(spec.policy)
} else := array.slice(sort(_malformed_matches(spec)), 0, 10)

# The matches of a Constraint that choose what it judges and by which parameters, each with its path.
_all_matches(spec) := array.concat(
	[["match", object.get(spec, "match", {})]],
	[[sprintf("parameterSelection[%d].match", [place]), object.get(entry, "match", {})] | some place, entry in spec.parameterSelection],
)

# An object's group has no version, and the core group is "". A kind is a name alone.
_malformed_matches(spec) := {sprintf("%s.kinds[%d]: %s", [path, place, problem]) |
	some [path, match] in _all_matches(spec)
	some place, entry in match.kinds
	some problem in _malformed_names(entry)
}

_malformed_names(entry) := {sprintf("no API group is %q; %s", [group, advice]) |
	some group in entry.apiGroups
	advice := kinds.advice_for_group(group)
} | {sprintf("no kind is %q; write %q", [kind, name]) |
	some kind in entry.kinds
	name := _name_in(kind)
}

# The kind in a text that is more than a kind, `<group>/<Kind>` or `<Kind>.<group>`.
_name_in(kind) := parts[count(parts) - 1] if {
	parts := split(kind, "/")
	count(parts) > 1
} else := split(trim_left(kind, "."), ".")[0] if {
	contains(kind, ".")
}

_wrong_scope(spec) := {sprintf("%s.scope: none of the kinds has the scope %s", [path, match.scope]) |
	some [path, match] in _all_matches(spec)
	match.scope
	selected := _selected_types(spec) & _selected_types({"match": match})
	selected != set()
	every type in selected {
		_lacks_scope(type, match.scope)
	}
}

_lacks_scope(type, scope) if {
	levels.shipped[type]
	not _has_scope(type, scope)
}

# An entry of parameterSelection selects among the objects that the Constraint matches.
_other_kinds(spec) := {sprintf("%s: none of its kinds is one that match selects", [path]) |
	some [path, match] in _all_matches(spec)
	known := _selected_types({"match": match})
	known != set()
	selected := _selected_types(spec)
	selected != set()
	known & selected == set()
}

_selected_types(spec) := {type | some type in _judged_types; matches_type(object.get(spec, "match", {}), type)}

_has_scope(_, "*")

_has_scope(type, "Cluster") if kinds.cluster_scoped(type)

_has_scope(type, "Namespaced") if not kinds.cluster_scoped(type)

# What guardrails judge. A Namespace is no target.
_judged_types := ((object.keys(levels.by_type) | kinds.names) | lookup.types) - {"core/Namespace"}

# The entries of matches whose kinds or groups are none of the known types, each with its place and what is wrong with it.
_unknown_matches(spec, known) := {[sprintf("%s.kinds[%d]", [path, place]), problem] |
	some [path, match] in _all_matches(spec)
	some place, entry in match.kinds
	_malformed_names(entry) == set() # reported as such
	some problem in _unknown_entries(entry, known)
}

_unknown_entries(entry, known) := {problem |
	some kind in entry.kinds
	types := {concat("/", [keys.group_name(group), kind]) | some group in entry.apiGroups}
	types & kinds.known_types == set()
	some type in types
	problem := kinds.unknown_type(type)
} if {
	_names_some(entry, "apiGroups")
	_names_some(entry, "kinds")
} else := {sprintf("no type has the kind %q; did you mean %q?", [kind, near]) |
	names := {split(type, "/")[1] | some type in known}
	some kind in entry.kinds
	not kind in names
	near := likeness.nearest(kind, names)
} if {
	_names_some(entry, "kinds")
} else := {sprintf("no type has the group %q; did you mean %q?", [group, near]) |
	groups := {split(type, "/")[0] | some type in known}
	some group in entry.apiGroups
	not keys.group_name(group) in groups
	near := likeness.nearest(group, groups)
} if {
	_names_some(entry, "apiGroups")
} else := set()

# METADATA
# description: |
#   A Constraint, also one that is not active, may be meant for objects of a type: its match selects the type, or does not name
#   kinds that exist.
may_concern(name, object_type) if not _is_about_others(all_constraints[name], object_type)

_is_about_others(constraint, object_type) if {
	count(constraint.spec.match.kinds) > 0
	every entry in constraint.spec.match.kinds {
		_malformed_names(entry) == set()
		_unknown_entries(entry, kinds.known_types) == set()
	}
	not matches_type(constraint.spec.match, object_type)
}

_names_some(entry, field) if {
	count(object.get(entry, field, [])) > 0
	not "*" in entry[field]
}

_all_parameters(spec) := [object.union(object.get(spec, "parameters", {}), more) |
	some more in array.concat([{}], [object.get(entry, "parameters", {}) | some entry in spec.parameterSelection])
]

_kinds_of(parameters) := {kind | some kind in parameters.kinds} | {kind | kind := parameters.kind}

# METADATA
# description: The policy kinds that a Constraint's parameters name, also those of parameterSelection.
kinds_in_parameters(spec) := union({_kinds_of(parameters) | some parameters in _all_parameters(spec)})

_unknown_parameters(spec) := {sprintf("parameters: unknown policy kind %q%s", [kind, hint]) |
	some parameters in _all_parameters(spec)
	some kind in _kinds_of(parameters)
	not kind in kinds.names
	nearest := [near | near := likeness.nearest_type(kind, kinds.names)]

	_is_misspelled(nearest, _kinds_of(parameters))
	hint := concat("", [sprintf("; did you mean %q?", [near]) | some near in nearest])
} | {sprintf("parameters: %s", [problem]) |
	some parameters in _all_parameters(spec)
	some field in array.concat([field | field := parameters.field], [field | some field in parameters.fields])
	known := _kinds_of(parameters) & kinds.names
	problems_by_kind := {kind: problem | some kind in known; problem := kinds.unknown_field(kind, effective.segments(field))}
	object.keys(problems_by_kind) == known
	some problem in problems_by_kind
}

# A kind that is not installed may be one of several.
_is_misspelled(nearest, _) if nearest != []

_is_misspelled(_, named) if named & kinds.names == set()

_never_in_effect(spec) := {sprintf("match selects nothing at which %s can be in effect", [concat(" or ", sort(names))]) |
	scope := object.get(spec, ["match", "scope"], "*")
	selected := {type | some type in _types_matched(spec); not _lacks_scope(type, scope)}
	selected != set()
	some parameters in _all_parameters(spec)
	known := _kinds_of(parameters) & kinds.names
	names := {split(kind, "/")[1] | some kind in known}
	names != set()
	every kind in known {
		every type in selected {
			not _is_in_effect_at(kind, type)
		}
	}
} if {
	spec.policy != "bridge.guardrails.no_policy_without_effect"
} else := {"match selects no policy kind" |
	selected := _types_matched(spec)
	selected != set()
	selected & kinds.names == set()
}

# The types that a match selects, also those that it names and that guardrails cannot judge.
_types_matched(spec) := _selected_types(spec) | {type |
	match := object.get(spec, "match", {})
	some entry in match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	not "*" in {group, kind}
	type := concat("/", [keys.group_name(group), kind])
	_has_no_place(type)
	matches_type(match, type)
}

# Objects of a type have no place in the hierarchy: a Namespace, and what only Kubernetes or the bridge itself reads.
_has_no_place("core/Namespace")

_has_no_place(type) if {
	group := split(type, "/")[0]
	_is_outside(group)
	not levels.by_type[type]
}

_is_outside("policybridge.io")
_is_outside(group) if not contains(group, ".")

# What is in effect at the targets of a type: what acts there or above.
_is_in_effect_at(kind, type) if {
	not type in kinds.names
	_may_be_target(kind, type)
	some level in _levels_of(kind)
	_is_at_or_above(level, _target_level(type))
}

_may_be_target(_, type) if not _has_no_place(type)
_may_be_target(kind, type) if kinds.may_target(kind, type)

_levels_of(kind) := {kinds.get(kind).effectiveTarget} if {
	not kinds.acts_at_targets(kind)
} else := {level |
	some type in _judged_types
	kinds.may_target(kind, type)
	level := _level_for(kind, type)
}

_level_for(kind, type) := "Frontend" if {
	kinds.frontend_role(kind, type)
} else := levels.of_type(type)

# The level of the targets at objects of a type. A port is none.
_target_level(type) := levels.by_type[type].section if {
	levels.of_type(type) != "Backend"
} else := levels.of_type(type)

# From the top; a level of an extension module may be anywhere.
_order := ["GatewayClass", "Gateway", "ListenerSet", "Listener", "Frontend", "Route", "Rule", "Backend", "Port"]

_is_at_or_above(one, _) if not one in _order

_is_at_or_above(_, other) if not other in _order

_is_at_or_above(one, other) if {
	some place, level in _order
	level == one
	other in array.slice(_order, place, count(_order))
}

# METADATA
# description: |
#   What suggests that a Constraint is useless, as messages by their place in its spec: a namespace or, of a policy that is no
#   guardrail, a kind or group that does not exist, with the nearest name; a match that selects none of the existing objects of
#   its kinds, or an entry of parameterSelection that selects none of those that the match selects. Nothing is known about objects that are not stored.
unmatched(spec) := {} if {
	lookup.has_view
} else := {} if {
	lookup.reads_in_part
} else := misspelled if {
	misspelled := object.union(_unknown_namespaces(spec), _unlikely_kinds(spec))
	misspelled != {}
} else := none if {
	none := _selects_none(object.get(spec, "match", {}), _candidates(spec))
	none != {}
} else := object.union(_entries_for_none(spec), _unknown_labels(spec))

# A namespaceSelector passes objects whose Namespace is not stored, as in a folder without the manifests of Namespaces:
# their labels are unknown.
_unknown_labels(spec) := {at: message |
	some [path, match] in _all_matches(spec)
	object.get(match, "namespaceSelector", {}) != {}
	others := object.remove(match, ["namespaceSelector"])
	missing := {namespace | some namespace in lookup.namespaces; not lookup.has_object(keys.format("", "Namespace", "", namespace))}
	missing != set()
	names := {it.namespace |
		some key in _candidates(spec)
		keys.namespace(key) in missing
		it := subject(lookup.get(key))
		matches(others, it)
		not matches(match, it)
	}
	names != set()
	at := sprintf("%s.namespaceSelector", [path])
	message := sprintf("%s: the labels of namespace %s are unknown, so objects in it are not selected: add its Namespace", [at, concat(", ", sort(names))])
}

# Of a guardrail this is an error. Other policies may judge kinds that follow later.
_unlikely_kinds(spec) := {} if {
	is_guardrail(spec.policy)
} else := {at: sprintf("%s: %s", [at, min(problems)]) |
	found := _unknown_matches(spec, kinds.known_types)
	some [at, _] in found
	problems := {problem | some [at, problem] in found}
}

# A name that is listed beside is no misspelling's right form: manifests often have one of several namespaces.
_unknown_namespaces(spec) := {at: message |
	some [path, match] in _all_matches(spec)
	some place, name in match.namespaces
	not contains(name, "*")
	not name in lookup.namespaces
	near := likeness.nearest(name, lookup.namespaces - {other | some other in match.namespaces})
	at := sprintf("%s.namespaces[%d]", [path, place])
	message := sprintf("%s: no namespace is %q; did you mean %q?", [at, name, near])
}

# The existing objects of the kinds of a match; those of a guardrail are only what it can judge.
_candidates(spec) := {key | some key in keys_matched(object.get(spec, "match", {})); keys.type_of(key) in judged} if {
	is_guardrail(spec.policy)
	named := kinds_in_parameters(spec) & kinds.names
	named != set()
	judged := {type | some type in (lookup.types & _judged_types); _is_judged(type, named)}
} else := keys_matched(object.get(spec, "match", {}))

_is_judged(type, policy_kinds) if {
	some kind in policy_kinds
	_is_in_effect_at(kind, type)
}

_selects_none(match, named) := {"match": sprintf("match selects none of the objects of its kinds (%d); check %s%s", [count(named), concat(", ", fields), hint])} if {
	count(named) > 0
	not _selects_some(match, named)
	fields := [field | some field in _narrowing; object.get(match, field, null) != null]
	hint := _hint_for_name(match, named)
} else := {}

_entries_for_none(spec) := {at: message |
	count(object.get(spec, "parameterSelection", [])) > 0
	match := object.get(spec, "match", {})
	selected := {key: it | some key in keys_matched(match); it := subject(lookup.get(key)); matches(match, it)}
	count(selected) > 0
	some place, entry in spec.parameterSelection
	not _selects_among(object.get(entry, "match", {}), selected)
	fields := [field | some field in array.concat(["kinds"], _narrowing); object.get(entry.match, field, null) != null]
	at := sprintf("parameterSelection[%d].match", [place])
	message := sprintf("%s selects none of the objects that match selects (%d); check %s", [at, count(selected), concat(", ", fields)])
}

_selects_among(match, selected) if {
	some it in selected
	matches(match, it)
}

_narrowing := ["scope", "namespaces", "excludedNamespaces", "labelSelector", "namespaceSelector", "name"]

_selects_some(match, named) if {
	some key in named
	matches(match, subject(lookup.get(key)))
}

_hint_for_name(match, named) := likeness.hint(match.name, names) if {
	names := {keys.parse(key).name | some key in named}
	not match.name in names
} else := ""
