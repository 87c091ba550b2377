# METADATA
# title: Proxies
# description: |
#   What proxies have, compared with what is in effect. A vendor's package reads a proxy's configuration as facts; this
#   package compares the facts of a target with its effective policies. It is the only place that says `verified`, and it
#   says so of a value that it has compared.
package bridge.proxies

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.merge
import data.bridge.queries
import data.bridge.scopes as acting

# The vendors' descriptions, by name.
_vendors[name] := {
	"targets": {type | some type in about.targets},
	"fields": about.fields,
	"parts": [[kind, pointer] | some kind, fields in about.fields; some pointer, field in fields; field.form == "Present"],
	"partly": object.get(about, "partly", {}),
	"elsewhere": object.get(about, "elsewhere", {}),
	"section": object.get(about, "section", ""),
	"names": object.get(about, "names", ""),
} if {
	some about in described
	name := about.name
}

# The states that are differences.
_differences := ["missing in the proxy", "differs", "stale"]

# METADATA
# description: |
#   The verdicts at the targets of the query, `{rows, counts, differences}`. A row is about a field of an effective policy
#   on a path, and a proxy: `{target, policyKind, path, field, expected, policies, proxy, actual, state, message}`.
comparison := {
	"rows": array.concat(
		[object.union(row, {"target": node, "policyKind": at.kind, "path": _path_to(node, at), "proxy": at.proxy}) |
			some at in _verdicts
			some row in at.found[listed]
			some node in at.nodes
		],
		array.concat(_unexpected, [row | some row in rule_rows; row.state in listed_states]),
	),
	"counts": {state: number |
		some state in {state | some counts in all_counts; some state, _ in counts}
		number := sum([found | some counts in all_counts; found := counts[state]])
	},
	"differences": _differences,
} if {
	listed := _listed
	all_counts := array.flatten([
		[{state: number * count(at.nodes)} | some at in _verdicts; some state, number in at.found.counts],
		[{"differs": 1} | some _ in _unexpected],
		[{row.state: 1} | some row in rule_rows],
	])
}

# METADATA
# description: The states whose rows are in the answer.
listed_states := {"verified", "cannot be read", "not known"} | {state | some state in _differences} if {
	input.everything
} else := {"not known"} | {state | some state in _differences}

_listed := "all" if {
	input.everything
} else := "open"

# The targets of the query, those at which the same is expected and found together: the verdicts on one are those on the others.
_alike := [object.keys(nodes) | some _, nodes in object.union_n([{_determinants(node): {node: true}} | some node in input.targets])]

# What the verdicts on the policies of a target depend on. A target that is not alike others is on its own.
_determinants(node) := [
	determinants,
	[[one.proxy, one.via, one.family] | some one in input.found[node]],
	[[row.proxy, row.path, row.message] | some row in rule_rows_of(node); is_doubtful(row)],
] if {
	determinants := engine.determinants(node)
} else := node

_path_to(node, at) := at.path if {
	node == at.like
} else := engine.path_of_alike(at.path, node)

# The verdicts on each effective policy of all targets that are alike: `found` is of `_verdict` for one of them, `like`.
_verdicts := [{"nodes": nodes, "like": node, "kind": kind, "path": entry.path, "proxy": proxy, "found": found} |
	some nodes in _alike
	node := min(nodes)
	some kind in _kinds_with_policies
	acting.acts_at(kind, node)
	some entry in engine.policies_of(kind, node, "")
	some proxy in _proxies_at(entry.path)
	some part in _parts_at(proxy, node, kind, entry)
	found := _found_in(proxy, node, kind, part)
]

# An effective policy, and what of it is in other proxies: the policies without any of the fields of `partly`.
_parts_at(proxy, node, kind, entry) := [entry] if {
	not _fields_here(proxy, node, kind)
} else := [entry] if {
	entry.error
} else := array.concat(
	[part | part := _part(entry, here); count(here) > 0],
	[object.union(part, {"elsewhere": true}) | elsewhere := [one | some one in entry.policies; not one in here]; part := _part(entry, elsewhere); count(elsewhere) > 0],
) if {
	fields := _fields_here(proxy, node, kind)
	here := [one | some one in entry.policies; some field in fields; lookup.get(one.policy).spec[field]]
}

_fields_here(proxy, node, kind) := _vendors[_vendor(proxy, kind)].partly[keys.type_of(node)]

_part(entry, policies) := object.union(entry, {"spec": spec, "origins": origins, "policies": policies}) if {
	kept := [[entry.spec[place], policy] |
		some place, _ in entry.spec
		some policy in merge.as_list(entry.origins[sprintf("/%d", [place])])
		policy in {one.policy | some one in policies}
	]
	spec := [one[0] | some one in kept]
	origins := {sprintf("/%d", [place]): one[1] | some place, one in kept}
}

_kinds_with_policies := [kind | some kind in queries.policy_kinds; count(lookup.keys_of(kind)) > 0]

# The proxies whose dumps have a Gateway of the path; "" if none has.
_proxies_at(path) := found if {
	found := {proxy | some node in path; some proxy in input.covered[keys.object_of(node)]}
	count(found) > 0
} else := {""}

_found_in("", _, _, entry) := _verdict_alone("not known", "none of these dumps is of a proxy for this target", _policies(entry))

_found_in(proxy, node, kind, entry) := _verdict_alone("not known", sprintf("Policy Bridge can't read %s from proxies of %s", [split(kind, "/")[1], concat(" and ", input.proxies[proxy].vendors)]), _policies(entry)) if {
	proxy != ""
	not _vendor(proxy, kind)
} else := _verdict_alone("cannot be read", "the policy is in the proxies of the Pods, not in this one", _policies(entry)) if {
	entry.elsewhere
} else := _verdict_alone("cannot be read", sprintf("the effective policy is not known: %s", [entry.error.message]), []) if {
	proxy != ""
	entry.error
} else := _verdict_alone("cannot be read", sprintf("Policy Bridge can't read targets of this kind from proxies of %s", [_vendor(proxy, kind)]), _policies(entry)) if {
	proxy != ""
	not keys.type_of(node) in _vendors[_vendor(proxy, kind)].targets
} else := _verdict(_vendor(proxy, kind), kind, families, entry.spec, entry.origins, entry.policies, object.get(entry, "incomplete", []), rule_doubts(node, proxy, entry.path)) if {
	families := {one.family |
		some one in input.found[node]
		one.proxy == proxy
		one.via in entry.path
		input.families[one.family].vendor == _vendor(proxy, kind)
	}
	count(families) > 0
} else := _verdict_alone("cannot be read", sprintf("the dump has no %s", [_section(node, proxy, kind)]), _policies(entry)) if {
	proxy != ""
	not _section(node, proxy, kind) in input.proxies[proxy].sections
} else := _verdict_alone("cannot be read", input.proxies[proxy].unread[_vendor(proxy, kind)], _policies(entry)) if {
	proxy != ""
} else := _verdict_alone("cannot be read", "the dump does not state the listener of this target", _policies(entry)) if {
	some one in input.found[node]
	one.proxy == proxy
	one.via == ""
	input.families[one.family].vendor == _vendor(proxy, kind)
} else := _verdict_alone("cannot be read", "the dump has no virtual host of this listener", _policies(entry)) if {
	proxy != ""
	_section_of(node) == "listeners" # listeners of one port share their configuration, and without routes have nothing else
} else := _verdict_alone("missing in the proxy", "the proxy has no configuration for this target", _policies(entry)) if {
	proxy != ""
}

# The vendor whose rules read a policy kind from a proxy; several vendors may configure one, such as Istio and Kuadrant.
_vendor(proxy, kind) := min({name | some name in input.proxies[proxy].vendors; _vendors[name].fields[kind]})

# The section of a dump that has the configuration of a target: that of the vendor, if it has one for all.
_section(node, proxy, kind) := section if {
	section := _vendors[_vendor(proxy, kind)].section
	section != ""
} else := _section_of(node)

_section_of(node) := "listeners" if {
	keys.type_of(node) in {"gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/ListenerSet"}
} else := "routes"

_policies(entry) := [policy.policy | some policy in entry.policies; policy.outcome != "Overridden"]

_verdict_alone(state, message, policies) := {"all": [row], "open": [one | some one in [row]; _is_open(state)], "counts": {state: 1}} if {
	row := _row({"state": state, "message": message, "policies": policies})
}

_row(about) := object.union({"field": "", "expected": null, "actual": null, "policies": [], "message": ""}, about)

_is_open("not known")
_is_open(state) if state in _differences

# The verdicts on an effective policy by the families of facts about its target: `{all, open, counts}`, rows without their
# target. It is a function of what is compared only, so OPA compares once for all targets that are alike.
_verdict(vendor, kind, families, spec, origins, policies, incomplete, doubts) := {
	"all": rows,
	"open": [row | some row in rows; _is_open(row.state)],
	"counts": {state: count([1 | some row in rows; row.state == state]) | some state in {row.state | some row in rows}},
} if {
	entry := {"spec": spec, "origins": origins, "policies": policies}
	found := array.concat(_name_rows(vendor, kind, entry, families), [row | some part in _parts_of(vendor, kind, entry, families); some row in _rows_of(vendor, kind, part, families)])
	unknown := array.concat(doubts, [text | some number in families; some text in input.families[number].unknown])
	rows := [_final(_if_known(row, unknown), families, incomplete) | some row in found]
}

# Nothing is verified at a part of the proxy of which Policy Bridge doesn't know all that changes what it does.
_if_known(row, unknown) := object.union(row, {"state": "cannot be read", "message": unknown[0]}) if {
	row.state == "verified"
	count(unknown) > 0
} else := row

# The parts of an effective policy that are compared with the proxy, `{subject, entry, fields}`. Where every policy
# applies, each is a part, with the values that the proxy has of it, and fields that the proxy has of all together are one.
_parts_of(vendor, kind, entry, families) := [{"subject": kind, "entry": entry, "fields": _vendors[vendor].fields[kind]}] if {
	not kinds.is_additive(kind)
} else := array.concat(
	[{"subject": policy, "entry": part, "fields": fields} |
		some place, spec in entry.spec
		policy := merge.as_list(entry.origins[sprintf("/%d", [place])])[0]
		part := {"spec": spec, "origins": {"": policy}, "policies": [one | some one in entry.policies; one.policy == policy]}
		fields := {pointer: about | some pointer, about in _vendors[vendor].fields[kind]; not about.together}
	],
	[{"subject": kind, "entry": {"spec": spec, "origins": {"": _policies(entry)}, "policies": entry.policies}, "fields": fields} |
		fields := {pointer: object.union(about, {"beside": _items_beside(kind, trim_prefix(pointer, "/"), families)}) |
			some pointer, about in _vendors[vendor].fields[kind]
			about.together
		}
		count(fields) > 0
		spec := {name: items |
			some pointer, _ in fields
			name := trim_prefix(pointer, "/")
			items := [item | some spec in entry.spec; some item in spec[name]]
		}
	],
)

_items_beside(kind, name, families) := [item |
	some node in {node | some number in families; some node in input.families[number].beside}
	some other in engine.policies_of(kind, node, "")
	some spec in other.spec
	some item in spec[name]
]

_rows_of(vendor, kind, part, families) := array.concat(
	[_field_row(part.entry, pointer, about, states[pointer]) |
		some pointer, about in readable
		not _is_silent(part.entry, pointer, about, states[pointer])
	],
	[_unread_row(vendor, kind, leaf) |
		some leaf in engine.leaves_at(part.entry, "")
		leaf.path != "" # an empty spec
		not _is_read(vendor, kind, leaf.path)
		not _is_below(leaf.path, absent)
	],
) if {
	readable := {pointer: about | some pointer, about in part.fields; _is_readable(part.entry, pointer, about)}
	states := {pointer: _worst({state |
		some number in families
		state := _state(part.entry, input.families[number], part.subject, pointer, about)
	}) |
		some pointer, about in readable
	}
	absent := {pointer | some pointer, about in readable; about.form == "Present"; states[pointer].state == "missing in the proxy"}
}

# A field without a value has its default, which the proxy states too; of some, if a field above it has a value.
_is_readable(entry, pointer, _) if engine.has_value(entry, pointer)

_is_readable(_, _, about) if {
	"default" in object.keys(about)
	not about.within
}

_is_readable(entry, _, about) if engine.has_value(entry, about.within)

_expected(entry, pointer, about) := engine.values_at(entry, pointer)[0].value if {
	engine.has_value(entry, pointer)
} else := about["default"]

# That a filter is there proves nothing about its fields. A default that no policy has is not worth a row.
_is_silent(_, _, {"form": "Present"}, state) if state.state != "missing in the proxy"

_is_silent(entry, pointer, about, state) if {
	state.state == "verified"
	about.within
	not engine.has_value(entry, pointer)
}

_field_row(entry, pointer, about, state) := _row(object.union(
	{"field": pointer, "expected": _expected(entry, pointer, about), "policies": engine.owners_at(entry.origins, "", pointer)},
	state,
))

# The policies that a proxy names for a target. Of policies that merge, some proxies name the most specific one only; of
# policies that all apply, each is named.
_name_rows(vendor, kind, entry, families) := [_row({
	"field": "(policy)",
	"expected": _policies(entry),
	"actual": sort(union(named)),
	"policies": _policies(entry),
	"state": _named_state(all, _policies(entry), named, beside),
})] if {
	all := _names_all(vendor, kind)
	beside := {policy | some number in families; some policy in _beside(kind, input.families[number].beside)}
	named := {names | some number in families; some names in _names_by(input.families[number], kind)}
	count(named) > 0
} else := []

# The policies in effect at other places that share the part of the proxy.
_beside(kind, nodes) := {policy |
	some node in nodes
	some other in engine.policies_of(kind, node, "")
	some policy in _policies(other)
}

default _names_all(_, _) := false

_names_all(_, kind) if kinds.is_additive(kind)

_names_all(vendor, _) if _vendors[vendor].names == "all"

# The sets of policies that a family of facts names, none if no listener of the proxy uses it.
_names_by(family, kind) := {set()} if {
	family.serving == "missing"
	_has_names(family, kind)
} else := {_by_fields([group[kind] | some group in family.origins])} if {
	_has_origins(family, kind)
} else := {{one | some one in group[kind]} | some group in family.names; group[kind]}

_has_names(family, kind) if family.names[_][kind]

_has_names(family, kind) if _has_origins(family, kind)

_has_origins(family, kind) if family.origins[_][kind]

# The policies of each field where it is first: at the route, above it at the listener, and so on.
_by_fields(groups) := {policy |
	some place, group in groups
	some field, policies in group
	not field in {name | some above in array.slice(groups, 0, place); some name, _ in above}
	some policy in policies
}

_named_state(all, expected, named, beside) := "missing in the proxy" if {
	set() in named
	count(expected) > 0
} else := "verified" if {
	every names in named {
		_agrees(all, expected, names, beside)
	}
} else := "differs"

# Of other places that share the part of the proxy, such as the Services of a waypoint, the proxy names the policies too.
_agrees(true, expected, names, beside) if {
	names - beside == {policy | some policy in expected} - beside
	count({policy | some policy in expected} - names) == 0
}

_agrees(false, expected, names, _) if {
	expected[count(expected) - 1] in names
	count(names - {policy | some policy in expected}) == 0
}

# The state of a field by one family of facts: `{state, actual, message}`.
_state(entry, family, kind, pointer, about) := {"state": "missing in the proxy", "actual": null, "message": "no listener of the proxy uses its routes"} if {
	family.serving == "missing"
} else := {"state": "missing in the proxy", "actual": null, "message": "its filter is not in the listener"} if {
	"missing" in _required(family, kind, pointer)
} else := {"state": "cannot be read", "actual": null, "message": "the dump has no listeners"} if {
	"unknown" in _required(family, kind, pointer)
} else := {"state": "cannot be read", "actual": null, "message": "the dump lacks a part that the route refers to"} if {
	family.lacks
	not pointer in object.keys(object.get(family.values[0], kind, {}))
} else := _explained_state(_compared(_expected(entry, pointer, about), actual, about), object.get(family, ["because", kind, pointer], "")) if {
	actual := _actual(family, kind, pointer, about)
	actual != []
} else := {"state": "cannot be read", "actual": null, "message": "the proxy does not state it"}

# A vendor may leave a value out where its proxies cannot use it.
_explained_state(state, why) := object.union(state, {"state": "cannot be read", "message": why}) if {
	state.state == "missing in the proxy"
	why != ""
} else := state

_required(family, kind, pointer) := {state |
	some part, state in object.get(family, ["requires", kind], {})
	_is_below(pointer, {part})
}

# The values of a field in the facts of a family; items of lists together, as the proxy has each on its own.
_actual(family, kind, pointer, about) := [array.flatten(lists)] if {
	startswith(about.form, "Items")
	not about.whole
	lists := [value | some one in family.values; value := one[kind][pointer]]
	every list in lists {
		is_array(list)
	}
	count(lists) > 0
} else := [value | some one in family.values; value := one[kind][pointer]]

_compared(expected, actual, about) := {"state": "cannot be read", "actual": null, "message": "the proxy has it in a form that Policy Bridge doesn't recognize"} if {
	{"unread": true} in actual
} else := {"state": "missing in the proxy", "actual": null, "message": ""} if {
	some value in actual
	value in {null, []}
	not expected in {[], false}
} else := {"state": "cannot be read", "actual": actual[0], "message": sprintf("%s cannot be compared", [concat(", ", sort(others))])} if {
	others := {name | some name in about.unless; some item in expected; item[name]}
	count(others) > 0
} else := {"state": "verified", "actual": actual[0], "message": ""} if {
	count(_unread(expected, about)) == 0
	every value in actual {
		_is_equal(about.form, about, expected, value)
	}
} else := {"state": "cannot be read", "actual": actual[0], "message": sprintf("%s agree; %s cannot be read", [concat(", ", object.get(about, "fields", [])), concat(", ", _unread(expected, about))])} if {
	every value in actual {
		_is_equal(about.form, about, expected, value)
	}
} else := {"state": "differs", "actual": differing[0], "message": ""} if {
	differing := [value | some value in actual; not _is_equal(about.form, about, expected, value)]
}

# The parts of items that no rule reads, those of all items too.
_unread(expected, about) := sort({name |
	startswith(about.form, "Items")
	some item in expected
	some name, _ in item
	not name in object.get(about, "fields", [])
} | {name | some name in about.unread; some _ in expected})

_is_equal("Value", _, one, other) if one == other
_is_equal("List", _, one, other) if one == other
_is_equal("Present", _, _, true)
_is_equal("Number", _, one, other) if to_number(one) == to_number(other)
_is_equal("Duration", _, one, other) if time.parse_duration_ns(one) == time.parse_duration_ns(other)
_is_equal("Quantity", _, one, other) if units.parse_bytes(sprintf("%v", [one])) == units.parse_bytes(sprintf("%v", [other]))
_is_equal("Set", _, one, other) if {item | some item in one} == {item | some item in other}
_is_equal("Items", about, one, other) if _projected(one, about) == _projected(other, about)
_is_equal("ItemsInAnyOrder", about, one, other) if sort(_projected(one, about)) == sort(_projected(other, about))

# Others are of places that share the part of the proxy.
_is_equal("ItemsAmong", about, one, other) if {
	wanted := {item | some item in _projected(one, about)}
	found := {item | some item in _projected(other, about)}
	count(wanted - found) == 0
	count((found - wanted) - {item | some item in _projected(about.beside, about)}) == 0
}

# Items with the fields that are compared, and which of the others they have.
_projected(items, about) := [object.union(object.filter(item, object.get(about, "fields", [])), {"with": [name | some name in about["with"]; name in object.keys(item)]}) | some item in items]

# The state that needs attention first.
_order := {"missing in the proxy": 0, "differs": 1, "cannot be read": 2, "verified": 3}

_worst(states) := [state | some [_, state] in sort({[_order[state.state], state] | some state in states})][0]

# What no rule reads, and is not part of what is missing as a whole.
_unread_row(vendor, kind, leaf) := _row({
	"field": leaf.path,
	"expected": leaf.value,
	"policies": leaf.policies,
	"state": "cannot be read",
	"message": _why_unread(vendor, kind, leaf.path),
})

_is_read(vendor, kind, path) if {
	some pointer, about in _vendors[vendor].fields[kind]
	about.form != "Present"
	_is_below(path, {pointer})
}

_is_below(path, pointers) if {
	some pointer in pointers
	startswith(concat("", [path, "/"]), concat("", [pointer, "/"]))
}

_why_unread(vendor, kind, path) := where if {
	some pointer, where in _vendors[vendor].elsewhere[kind]
	_is_below(path, {pointer})
} else := sprintf("the proxy has %s, but Policy Bridge doesn't compare this field in proxies of %s", [max(above), vendor]) if {
	above := {pointer |
		some pointer, about in _vendors[vendor].fields[kind]
		about.form == "Present"
		_is_below(path, {pointer})
	}
	count(above) > 0
} else := sprintf("Policy Bridge doesn't read this field from proxies of %s", [vendor])

# A difference is stale if the proxy's configuration is older than a policy. It says so if what is in effect is uncertain.
_final(row, families, incomplete) := object.union(row, {"state": "stale", "message": sprintf("the proxy's configuration is of %s, older than %s", [updated, keys.describe(newest)])}) if {
	row.state in _differences
	updated := min({text | some number in families; text := input.families[number].updated; text != ""})
	[_, newest] := max({[created, policy] |
		some policy in row.policies
		created := lookup.get(policy).metadata.creationTimestamp
		time.parse_rfc3339_ns(created) > time.parse_rfc3339_ns(updated)
	})
} else := object.union(row, {"message": concat("; ", array.concat([row.message | row.message != ""], uncertain))}) if {
	row.state in _differences
	count(incomplete) > 0
	uncertain := [sprintf("uncertain: %s", [reason]) | some reason in incomplete]
} else := row

# What proxies have that is not in effect: policies that a proxy names for a target at which no policy of their kind is
# in effect, targets that do not exist, and parts that no policy sets. Policies that the user may not read may set them.
_unexpected := array.concat(_unexpected_parts, array.concat(
	[_unexpected_row(node, "", [], one, "no such target exists") |
		some node in _nodes_alone
		not hierarchy.canonical_key(node)
		some one in input.found[node]
		one.via != ""
	],
	[_unexpected_row(node, kind, names, one, "no policy of this kind is in effect here") |
		some nodes in _alike
		some one in input.found[min(nodes)]
		one.via != ""
		some [kind, names] in _named_alone[one.family]
		not kind in lookup.partly_read
		hierarchy.canonical_key(min(nodes))
		every entry in engine.policies_of(kind, min(nodes), "") {
			not one.via in entry.path
		}
		some node in nodes
	],
))

# A part of which only the presence is compared, such as a filter: of a policy that has changed, or was deleted.
_unexpected_parts := [object.union(_unexpected_row(node, kind, true, one, "no policy in effect sets it"), {"field": pointer}) |
	some nodes in _alike
	some one in input.found[min(nodes)]
	one.via != ""
	some [kind, pointer] in _parts_of_families[one.family]
	not kind in lookup.partly_read
	hierarchy.canonical_key(min(nodes))
	entries := [entry | some entry in engine.policies_of(kind, min(nodes), ""); one.via in entry.path]
	every entry in entries {
		not entry.error
		not entry.incomplete
		not engine.has_value(entry, pointer)
	}
	not pointer in engine.own_fields(kind, min(nodes))
	some node in nodes
]

_parts_of_families := [[[kind, pointer] |
	family.serving == "there"
	object.get(family, "unknown", []) == []
	some [kind, pointer] in _vendors[family.vendor].parts
	some one in family.values
	one[kind][pointer] == true
	_required(family, kind, pointer) - {"there"} == set()
] |
	some family in input.families
]

_nodes_alone := [node | some nodes in _alike; count(nodes) == 1; some node in nodes]

# The policies that a family names and that do not belong to other places, `[kind, names]`.
_named_alone := [[[kind, names] |
	some group in family.names
	some kind, names in group
	count({name | some name in names} - _beside(kind, family.beside)) > 0
] |
	some family in input.families
]

_unexpected_row(node, kind, names, one, message) := object.union(
	_row({"field": "(policy)", "actual": names, "state": "differs", "message": message}),
	{"target": node, "policyKind": kind, "path": [one.via], "proxy": one.proxy},
)
