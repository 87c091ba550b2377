package bridge.index

import data.bridge.lib.keys
import data.bridge.lookup

# The links of an object in the form that the replicator writes at both ends: `{path, value}`, where the path is the
# part of `data.index` with its keys. The object's own key completes it (docs/appendix/documents.md).
entries(obj) := entries_of(keys.of(obj), links(obj))

# The same from an object's key and its links.
entries_of(self, declared) := union({
	_edge_entries(self, declared),
	{{"path": ["members", namespace], "value": objects} |
		declared.members
		some namespace, objects in _ends_by({[split(key, "/")[2], key] | some key in declared.members}, 0)
	},
	{{"path": ["served", parent, hostname, path], "value": true} |
		some parent in declared.above
		some hostname in declared.served.hostnames
		some path in declared.served.paths
	},
	{{"path": ["claims", parent, port, slot], "value": true} | some parent in declared.above; some [port, slot] in declared.claims},
	{{"path": ["attached", type, target], "value": true} | some target in declared.targets},
	{{"path": ["targeted", keys.whole(target)], "value": true} | some target in declared.targets},
	{{"path": ["limited", type], "value": true} | declared.classes},
	{{"path": ["oversized", key], "value": declared.oversized.message} | some key in declared.oversized.objects},
	{entry | some entry in selection_entries(type, declared.selectors)},
	object.get(declared, "bound", set()),
	_referrer_entries(self, object.get(declared, "targets", set())),
}) if {
	type := keys.type_of(self)
}

# The edges of most objects all have the object itself at one end, once: grouping them needs no comparison of all with
# all, which takes 12,000 expressions for a route with 100 backends.
_edge_entries(self, declared) := set() if {
	object.filter(declared, ["above", "below", "extended"]) == {}
} else := union({
	{{"path": ["children", parent], "value": [self]} | some parent in declared.above},
	{{"path": ["parents", child], "value": [self]} | some child in declared.below},
	{{"path": ["parents", self], "value": sort(declared.above)} | count(declared.above) > 0},
	{{"path": ["children", self], "value": sort(declared.below)} | count(declared.below) > 0},
	_referrer_entries(self, object.get(declared, "above", set()) | object.get(declared, "below", set())),
}) if {
	not declared.extended
	not declared.above[self]
	not declared.below[self]
} else := union({
	{{"path": ["children", parent], "value": children} | some parent, children in _ends_by(edges, 0)},
	{{"path": ["parents", child], "value": parents} | some child, parents in _ends_by(edges, 1)},
	{{"path": ["extended", child], "value": parents} | some child, parents in _ends_by(declared.extended, 1)},
	_referrer_entries(self, {end | some edge in edges; some end in edge}),
}) if {
	# The pairs [parent, child] of objects and frontends that the object declares.
	edges := union({
		{[parent, self] | some parent in declared.above},
		{[self, child] | some child in declared.below},
		{[keys.whole(parent), child] | some [parent, child] in declared.extended},
	})
}

_referrer_entries(self, ends) := {{"path": ["referrers", namespace], "value": true} |
	some namespace in ({split(end, "/")[2] | some end in ends} - {"-", split(self, "/")[2]})
}

_ends_by(pairs, side) := {end: sort({pair[1 - side] | some pair in pairs; pair[side] == end}) | some end in {pair[side] | some pair in pairs}}

# The entries of an object that binds policies, by the keys of what it binds, of the targets, and of the kinds.
binding_entries(bound, targets, policy_kinds) := union({
	{{"path": ["bound", key], "value": true} | some key in bound},
	{{"path": ["bindings", key], "value": true} | some key in targets},
	{{"path": ["selecting", kind], "value": true} | some kind, _ in policy_kinds},
})

# The entries of an object that may have children of these types by policy kinds: all of a type in its namespace, as
# their declared parent.
placing_entries(object_key, types) := {entry |
	some type, _ in types
	children := concat("/", [type, keys.parse(object_key).namespace, "*"])
	some part in ["extended", "parents"]
	entry := {"path": [part, children], "value": [object_key]}
}

# The entries of a policy of a type for what it selects, `[namespace, type, text]`.
selection_entries(type, selections) := {{"path": array.concat(["selectors"], selection), "value": true} | some selection in selections} | {{
	"path": ["selecting", type],
	"value": true,
} |
	count(selections) > 0
}

# The declarations of the objects that `changes` creates or replaces, by part of the index, first key, and the further
# keys joined by newlines: a set. A complete rule, so OPA computes it once for a query.
_changed_entries := {} if {
	lookup.has_no_changes
} else := _entries_of_changes

_entries_of_changes[path[0]][path[1]][concat("\n", array.slice(path, 2, 4))] contains value if {
	some declarer, obj in lookup.upserts
	some entry in entries(obj)
	path := entry.path
	some value in _values(entry.value, declarer)
}

# Policy kinds place objects below others, by `hierarchy`: see `placing_entries`.
_entries_of_changes[path[0]][path[1]][""] contains key if {
	some key, _ in lookup.upserts
	some {"path": path, "value": _} in placing_entries(key, _types_placed_below(keys.type_of(key)))
}

_types_placed_below(type) := {entry.child: true |
	some entry in data.kinds[_].hierarchy
	entry.parent == type
}

_entries_of_changes.extended[key][""] contains key if {
	some key, obj in lookup.upserts
	obj.kind == "PolicyKind"
	obj.spec.hierarchy
}

_values(value, declarer) := value if {
	is_array(value)
} else := [declarer]

policies_naming(policy_kind, key) := {policy | some policy, _ in data.index.attached[policy_kind][key]} if {
	lookup.has_no_changes
} else := {policy |
	some policy, _ in data.index.attached[policy_kind][key]
	not policy in lookup.changed_keys
} | object.get(_changed_entries, ["attached", policy_kind, key], set())

# The objects that policies of any kind name, whether they exist or not.
targeted_objects := {object_key |
	some object_key, policies in data.index.targeted
	some policy, _ in policies
	not policy in lookup.changed_keys
} | {joined | some joined, _ in _changed_entries.targeted}

# The policy kinds with a policy that has an entry in a part of the index: that selects targets by labels ("selecting"),
# so that policies that name their targets cost no search for others, or has a className ("limited").
kinds_with(part) := {kind | some kind, _ in data.index[part]} if {
	lookup.has_no_changes
} else := {kind | some kind, _ in data.index[part]} | {kind | some kind, _ in _changed_entries[part]}

# The policies that select objects of a type in a namespace (`-` for cluster-scoped ones), as [policy, selector],
# whatever they select.
policies_selecting(namespace, type) := {[policy, text] |
	some text, policies in data.index.selectors[namespace][type]
	some policy, _ in policies
	not policy in lookup.changed_keys
} | {[policy, text] |
	some joined, policies in _changed_entries.selectors[namespace]
	startswith(joined, concat("", [type, "\n"]))
	text := trim_prefix(joined, concat("", [type, "\n"]))
	some policy in policies
}

# The policies with an entry at a key of a part of the index: those that name an object ("targeted"), those above a bound
# that name an object or are the object themselves ("oversized", semantics T6), or those of a kind with a className
# ("limited").
policies_at(part, key) := {declarer | some declarer, _ in data.index[part][key]} if {
	lookup.has_no_changes
} else := {declarer |
	some declarer, _ in data.index[part][key]
	not declarer in lookup.changed_keys
} | object.get(_changed_entries, [part, key, ""], set())

# Some object binds policies to targets. Computed once for a query, which avoids lookups if none does.
has_bindings if some _ in data.index.bound

# The bound that a replicated policy exceeds, as a message; undefined if it exceeds none. It is stored, because counting
# the policy again in each query would cause the cost that bounds avoid.
stored_excess(policy_key) := data.index.oversized[policy_key][policy_key]

# Some policy is above a bound. Computed once for a query, which avoids lookups if none is.
has_oversized if some _ in data.index.oversized
has_oversized if _changed_entries.oversized

# The ListenerSets that claim a slot of a port of a Gateway, whether the Gateway allows them or not.
claimants(gateway, port, slot) := {key |
	some key, _ in data.index.claims[gateway][port][slot]
	not key in lookup.changed_keys
} | object.get(_changed_entries, ["claims", gateway, concat("\n", [port, slot])], set())

# ListenerSets name a Gateway, or did.
is_claimed(gateway) if data.index.claims[gateway]
is_claimed(gateway) if _changed_entries.claims[gateway]

# ListenerSets name some Gateway. Computed once for a query, which avoids lookups if there are none.
has_claims if some _ in data.index.claims
has_claims if _changed_entries.claims

claimed_slots(gateway, port) := {slot | data.index.claims[gateway][port][slot]} | {slot |
	some joined, _ in _changed_entries.claims[gateway]
	[at, slot] := split(joined, "\n")
	at == port
}

listener_sets_of(gateway) := {key |
	some slots in data.index.claims[gateway]
	some claimants_there in slots
	some key, _ in claimants_there
	not key in lookup.changed_keys
} | {key | some keys_there in _changed_entries.claims[gateway]; some key in keys_there}

# The routes that declare a parent (a Gateway, ListenerSet or frontend) for a hostname (`*`: any) and a path (see
# `entries`), whether they count or not.
routes_serving(parent, name, path) := {route |
	data.index.served[parent][_][name][path][route]
	not route in lookup.changed_keys
} | object.get(_changed_entries, ["served", parent, concat("\n", [name, path])], set())

# The same for a hostname and any path.
routes_with_hostname(parent, name) := {route |
	data.index.served[parent][_][name][_][route]
	not route in lookup.changed_keys
} | {route |
	some joined, routes in _changed_entries.served[parent]
	split(joined, "\n")[0] == name
	some route in routes
}

served_names(parent) := union({object.keys(data.index.served[parent][home]) | some home, _ in data.index.served[parent]}) | {name |
	some joined, _ in _changed_entries.served[parent]
	name := split(joined, "\n")[0]
}

# Some hostnames for which routes declare a parent and that end with a text, up to a maximum. One text with all
# hostnames is searched, because a loop over ten thousand takes ten times as long.
some_served_names(parent, ending, most) := regex.find_n(concat("", ["(?m)^.*", _literal(ending), "$"]), _names_text(parent), most)

_names_text(parent) := concat("\n", served_names(parent))

# Some paths for which routes declare a parent and a hostname and that begin with a text, up to a maximum.
some_served_paths(parent, name, beginning, most) := regex.find_n(
	concat("", ["(?m)^", _literal(beginning), ".*$"]),
	_paths_text(parent, name),
	most,
)

_paths_text(parent, name) := concat("\n", array.concat(
	[concat("\n", object.keys(by_path)) | by_path := data.index.served[parent][_][name]],
	[path |
		some joined, _ in _changed_entries.served[parent]
		[named, path] := split(joined, "\n")
		named == name
	],
))

# A text as a regular expression that matches only that text.
_literal(text) := concat("", [`\Q`, replace(text, `\E`, `\E\\E\Q`), `\E`])

# The objects above this one by any object's declaration, whether that counts or not.
declared_parents(key) := _with_default_gateways("parents", _declared_neighbors("parents", key))

# The objects below this one by any object's declaration, whether that counts or not.
declared_children(key) := _with_default_gateways("children", _declared_neighbors("children", key))

_with_default_gateways(direction, linked) := (linked - {default_gateways_key}) | _declared_neighbors(direction, default_gateways_key) if {
	default_gateways_key in linked
} else := linked

# The Gateways that routes have as default Gateways (Gateway API, Gateway.spec.defaultScope).
default_gateways := _declared_neighbors("parents", default_gateways_key)

# The mesh frontends that routes name, of any kind, whether they exist or not. Reads the keys of all links.
frontends := {node |
	data.index.children[_][node]
	keys.is_frontend(node)
} | {node |
	some node, _ in _changed_entries.children
	keys.is_frontend(node)
}

# Some object declares links besides those of Gateway API, or has children by a policy kind. Computed once for a query, which avoids lookups if no module does.
has_extension_links if some _ in data.index.extended
has_extension_links if _changed_entries.extended

# The nodes that an extension module places above an object or frontend, whether they exist or not.
declared_extension_parents(node) := _declared_ends("extended", node)

# The objects of a namespace, of kinds that have no level, which some link names.
members(namespace) := _declared_ends("members", namespace)

referrers(namespace) := {key |
	some declarers in data.index.referrers[namespace]
	some key, _ in declarers
	not key in lookup.changed_keys
} | object.get(_changed_entries, ["referrers", namespace, ""], set())

# An object's own declarations are stored separately from those of other objects (docs/appendix/documents.md).
_declared_neighbors(direction, key) := {other | some other in data.index.own[direction][home][key]} | {other |
	some others in data.index[direction][home][key][_]
	some other in others
} if {
	lookup.has_no_changes
	home := keys.home(key)
} else := ({other |
	not key in lookup.changed_keys
	some other in data.index.own[direction][keys.home(key)][key]
} | {other |
	some declarers in data.index[direction][keys.home(key)][key]
	some declarer, others in declarers
	not declarer in lookup.changed_keys
	some other in others
}) | object.get(_changed_entries, [direction, key, ""], set())

_declared_ends(direction, key) := {other | some other in data.index[direction][key][_]} if {
	lookup.has_no_changes
} else := {other |
	some declarer, others in data.index[direction][key]
	not declarer in lookup.changed_keys
	some other in others
} | object.get(_changed_entries, [direction, key, ""], set())
