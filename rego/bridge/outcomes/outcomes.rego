# METADATA
# title: Outcomes
# description: |
#   The outcome of each policy at its effective targets, from which statuses are counted (GEP-713, "Status reporting";
#   semantics O4).
package bridge.outcomes

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.policy as policies
import data.bridge.scopes

# The outcomes at one effective target, one entry for each policy, ancestor and group of paths: `{policy, targets, ancestor,
# outcome, by, count, examples, marks, incomplete?}`. `targets` are the policy's declared targets on the path, except those that it
# selects by fields of its kind (semantics T8), `by` names the policies that override it with the strategy, `examples` name the
# first paths and their source unless that is any, `marks` are the places that report the policy's effect, `incomplete` are the
# reasons why the outcomes on the path are not certain.
outcomes_at(policy_kind, node) := [object.union(row, {"marks": marks(_nodes_above_route(group), node, fate)}) |
	some [group, fate, row] in _rows_at(policy_kind, node)
]

# The same without marks, which the counts of a policy do not need, as `[group, fate, row]`. A group has one of its paths.
_rows_at(policy_kind, node) := [[group, fate, row] |
	some group in groups
	examples := [concat("", [names, name]) | some names in _first_names(group.heads)]
	some fate in _outcomes_of_stack(group.attached, group.path[0])
	some ancestor in ancestors(policy_kind, group.path, fate.targets)
	row := _row(policy_kind, fate, ancestor, count(group.heads), examples)
] if {
	not effective.may_be_incomplete(policy_kind)
	groups := effective.stacks_by_listener(policy_kind, node)
	name := node_name(node)
} else := [[{"path": path}, fate, row] |
	some [source, path, attached] in effective.stacks_by_source(policy_kind, node)
	some fate in _with_doubts(policy_kind, path, _outcomes_of_stack(attached, path[0]))
	some ancestor in ancestors(policy_kind, path, fate.targets)
	row := _row(policy_kind, fate, ancestor, 1, [_scope(path, source)])
]

_row(policy_kind, fate, ancestor, number, examples) := object.union_n([fate, {
	"targets": _counted_targets(policy_kind, fate),
	"ancestor": ancestor,
	"count": number,
	"examples": examples,
}])

# What precedes the name of a section of a route in the names of the first paths. The same for all routes of these listeners.
_first_names(heads) := array.slice(sort([_names_above(array.concat(head, [""])) | some head in heads]), 0, _most_examples)

_most_examples := 3

_nodes_above_route(group) := _last_nodes(group.heads) if {
	group.heads
} else := {above_route(group.path)}

_last_nodes(heads) := {head[count(head) - 1] | some head in heads}

# The outcomes on a path, with `incomplete`, the reasons, where one is not certain: what is not modeled, and that nothing
# accepts the route at the top. Every policy of an Additive kind applies, whatever the others do.
_with_doubts(policy_kind, path, fates) := fates if {
	startswith(path[0], "gateway.networking.k8s.io/GatewayClass/")
	not effective.may_be_incomplete(policy_kind)
} else := [object.union(fate, {"incomplete": reasons | reasons := array.concat(not_modeled, unattached); reasons != []}) |
	unattached := _unattached(path)
	some fate in fates
	not_modeled := [reason | some reason in effective.doubts_about(policy_kind, path, fates, _related(policy_kind, fates, fate))]
]

_related(policy_kind, _, fate) := [fate] if kinds.is_additive(policy_kind)
_related(policy_kind, fates, _) := fates if not kinds.is_additive(policy_kind)

_unattached(path) := [sprintf("%s is not attached: %s", [keys.describe(keys.object_of(route)), concat("; ", reasons)]) |
	reasons := hierarchy.not_attached(path)
	route := [node | some node in path; levels.of(node) == "Route"][0]
	count(hierarchy.unread_parents(keys.object_of(route))) == 0 # it is among the doubts then
]

_scope(path, source) := scope_name(path) if {
	source == ""
	not index.has_extension_links
} else := concat("", array.flatten([
	scope_name(path),
	# A path that was cut (semantics P7).
	[sprintf(" (cut: links of an extension lead back to %s)", [cut]) | index.has_extension_links; cut := hierarchy.cut_node(path)],
	[sprintf(" from namespace %s", [source]) | source != ""],
]))

# The targets by which a policy's status counts: none of those that it selects by fields of its kind, unless they are its
# ancestors. Otherwise the counts of a policy for a whole mesh, which each of its statuses needs, are as many as the
# cluster has workloads (semantics T8).
_counted_targets(policy_kind, fate) := [] if {
	not has_ancestors(policy_kind)
	policies.selects_by_fields(fate.policy)
} else := fate.targets

# The outcome of each policy of a stack, independent of its path. `root` is the first node of the path.
_outcomes_of_stack(attached, root) := [{"policy": policy, "targets": targets, "outcome": "Failed", "by": [error.message]} |
	some policy, targets in _targets_by_policy(attached)
] if {
	error := effective.error_of(attached, root)
} else := [{"policy": policy, "targets": targets, "outcome": fate.outcome, "by": effective.deciders(attached, policy, fate.overriddenBy)} |
	some policy, targets in _targets_by_policy(attached)
	fate := effective.outcome(attached, policy)
]

# A policy may be attached at two places of a path (semantics P4).
_targets_by_policy(attached) := {policy: [target | some target in targets] |
	some policy, targets in object.union_n([{entry.policy: {place: entry.target}} | some place, entry in attached])
}

# The tallies of a policy: the input's, if the caller has counted outcomes, or else those of its outcomes.
tallies_of(policy_key) := object.get(input.tallies, policy_key, []) if {
	input.tallies
} else := tallies(policy_key)

# The outcomes of a policy at all its effective targets, counted, `{ancestor, targets, outcome, by, count, examples,
# incomplete?}`.
tallies(policy_key) := [object.union(
	{
		"ancestor": group[0],
		"targets": group[1],
		"outcome": group[2],
		"by": group[3],
		"count": sum([row[1] | some row in rows]),
		"examples": array.slice(sort(array.flatten([row[2] | some row in rows])), 0, _most_examples),
	},
	{"incomplete": group[4] | group[4] != []},
) |
	own := sort([[[entry.ancestor, entry.targets, entry.outcome, entry.by, object.get(entry, "incomplete", [])], entry.count, entry.examples] |
		some node in scopes.without_whole_objects(keys.type_of(policy_key), scopes.reachable_scopes(policy_key))
		some [_, _, entry] in _rows_at(keys.type_of(policy_key), node)
		entry.policy == policy_key
	])

	# The groups are next to each other.
	starts := array.concat([0 | count(own) > 0], [index | some index, [group, _, _] in own; own[index - 1][0] != group])
	some number, start in starts
	rows := array.slice(own, start, array.concat(starts, [count(own)])[number + 1])
	group := own[start][0]
]

# The ancestors of a policy's status entries for a path: the nodes at the kind's ancestorLevel or, if there are none (or
# the level is Target), the policy's own targets (semantics S3). An Inherited kind's path has one; a Direct kind's path
# is its target only (C2), so its ancestors are the nodes above that by accepted links.
ancestors(policy_kind, path, targets) := {""} if {
	not has_ancestors(policy_kind)
} else := found if {
	found := {node | some node in path; _is_ancestor(policy_kind, node)}
	count(found) > 0
} else := found if {
	# A listener of the Gateway itself has no ListenerSet.
	kinds.get(policy_kind).ancestorLevel == "ListenerSet"
	found := {node | some node in path; levels.of(node) == "Gateway"}
	count(found) > 0
} else := found if {
	keeps_status_above(policy_kind)

	# A port without a route has the ancestors of its Service.
	found := [above |
		some node in array.concat([path[count(path) - 1]], targets)
		above := _ancestors_above(policy_kind, node)
		count(above) > 0
	][0]
} else := {target | some target in targets}

has_ancestors(policy_kind) if {
	kinds.get(policy_kind).statusShape == "Ancestors"
} else := false

# A Direct kind reports statuses for objects above its targets (semantics S3).
keeps_status_above(policy_kind) if {
	kinds.is_direct(policy_kind)
	kind := kinds.get(policy_kind)
	kind.statusShape == "Ancestors"
	kind.ancestorLevel != "Target"
}

# Changes of objects above a Direct kind's targets affect it: it reports statuses for them, or has no effect below Gateways
# of other controllers (semantics P8).
depends_above(policy_kind) if keeps_status_above(policy_kind)

depends_above(policy_kind) if {
	kinds.is_direct(policy_kind)
	kinds.get(policy_kind).controllers
}

# The number of paths from which the rows of a policy kind at these targets are computed.
paths_to(policy_kind, targets) := count(targets) if {
	kinds.is_direct(policy_kind)
	not depends_above(policy_kind)
} else := sum([hierarchy.path_count(keys.whole(target)) | some target in targets])

# The rows of `outcomes_at` by target, for each of these targets that is an effective target of the kind now.
outcomes_of(policy_kind, targets) := {target: outcomes_at(policy_kind, target) |
	some target in _effective_targets(policy_kind, targets)
}

# The same without marks.
unmarked_outcomes_of(policy_kind, targets) := {target: [row | some [_, _, row] in _rows_at(policy_kind, target)] |
	some target in _effective_targets(policy_kind, targets)
}

_effective_targets(policy_kind, targets) := [target |
	some target in scopes.without_whole_objects(policy_kind, targets)
	scopes.acts_at(policy_kind, target)
	hierarchy.canonical_key(target) == target
]

_is_ancestor(policy_kind, node) if levels.of(node) == kinds.get(policy_kind).ancestorLevel

_ancestors_above(policy_kind, node) := {above |
	some path in hierarchy.counted_paths(policy_kind, hierarchy.paths(node, false))
	some above in path
	_is_ancestor(policy_kind, above)
}

# The places that report a policy's effect, `[object, place]`, by its outcome on paths through these nodes directly above a
# route: its declared `targets` on the paths, and the effective target (GEP-713, "Target object status"; semantics S4). An
# Overridden policy affects nothing.
marks(aboves, node, fate) := union({places(marked, aboves) | some marked in array.concat([node], fate.targets)}) if {
	fate.outcome in {"Programmed", "PartiallyProgrammed"}
} else := set()

# The places that can report on a node, `[object, place]`: a listener's own status by its name; a route's status for
# each parentRef that selects one of `aboves`, by that parentRef as JSON; for other nodes the object itself, "".
places(node, aboves) := {[parts.object, parts.section]} if {
	levels.of(node) == "Listener"
	parts := keys.parse(node)
} else := _places_of_route(route, aboves) if {
	route := keys.parse(node).object
	levels.of(route) == "Route"
} else := {[keys.parse(node).object, ""]}

_places_of_route(route, aboves) := {[route, json.marshal(ref)] | some ref in hierarchy.parent_refs(route, aboves)}

# The node directly above the route of a path to a node, without Namespaces; empty if the path has none.
above_route(path) := path[2] if {
	# Of most paths: nothing but a Gateway and its class is above a listener.
	levels.of(path[2]) == "Listener"
	levels.of(path[3]) == "Route"
	not index.has_extension_links
} else := path[3] if {
	# The same with Namespaces, of the Gateway and of the route.
	levels.of(path[3]) == "Listener"
	levels.of(path[4]) == "Namespace"
	levels.of(path[5]) == "Route"
	not index.has_extension_links
} else := [above |
	some position, route in path
	levels.of(route) == "Route"
	some above in array.reverse(array.slice(path, position - 2, position))
	levels.of(above) != "Namespace"
][0] if {
	true
} else := ""

# The name of a path in messages, with its nodes from the top. A GatewayClass, a Namespace and an object before its own
# section are omitted, because they add no information.
scope_name(path) := concat("", [_names_above(array.slice(path, 0, last)), _name_above(path[last - 1], path[last]), node_name(path[last])]) if {
	last := count(path) - 1
	last > 0
} else := node_name(path[0])

# The names of nodes that are above the last one, in steps that many paths share: those of the rules of a route, and those
# of the routes of a listener.
_names_above(nodes) := concat("", [_names_at_top(array.slice(nodes, 0, last)), _name_above(nodes[last - 1], nodes[last])]) if {
	last := count(nodes) - 1
	last > 0
} else := ""

_names_at_top(nodes) := concat("", [name | some index, node in nodes; name := _name_above(node, nodes[index + 1])])

# The name of a node above another one, with what separates them; empty if it is omitted.
_name_above(node, below) := "" if {
	levels.of(node) in {"GatewayClass", "Namespace"}
} else := "" if {
	startswith(below, concat("", [node, "#"]))
} else := concat("", [node_name(node), " > "])

# The name of a node in messages, `Kind/namespace/name#section`. Kinds of groups other than Kubernetes' core and Gateway
# API have the form `Kind.group`, as in kubectl, because two groups may have a kind with the same name.
node_name(node) := concat("", [_kind_name(group, kind), "/", namespace, "/", rest]) if {
	[group, kind, namespace, rest] := split(node, "/")
	namespace != "-"
} else := concat("", [_kind_name(parts.group, parts.kind), "/", keys.short(node), section_or_role]) if {
	parts := keys.parse(node)
	section_or_role := trim_prefix(node, parts.object)
}

_kind_name("core", kind) := kind
_kind_name("gateway.networking.k8s.io", kind) := kind
_kind_name(group, kind) := concat(".", [kind, group]) if not group in {"core", "gateway.networking.k8s.io"}
