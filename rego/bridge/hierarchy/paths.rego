package bridge.hierarchy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The nodes directly above a node by accepted links, without Namespaces (see `paths`).
parents(node) := {object_key} if {
	[object_key, _] := split(node, "#")
} else := _own_parents(node) if {
	not index.has_extension_links
} else := _own_parents(node) | extension_parents(node)

_own_parents(node) := rules_above(node) if {
	levels.of(node) == "Backend"
} else := parents_at(levels.of(node), node)

# The nodes above an object of a level that it names and whose links count; each level has a file. The links to
# backends are those of rules, see `rule_backends`.
default parents_at(_, _) := set()

# The other nodes that it names, as `[node, reason]`: why the link is ignored, as the reason of a condition (Gateway
# API, RouteConditionReason, ListenerSetConditionReason).
default refused_above(_, _) := set()

# The maximum number of nodes of a path. A longer path starts with `path_bound_mark`.
path_bound := 16

# The first element of a path that was cut at a bound, which distinguishes it from a whole path.
path_bound_mark := "…"

# All paths to a node, each from a root (a node without a parent that counts) to the node itself. A set, so two paths
# with the same keys are one (semantics P1). A missing parent or a link that is ignored is omitted (P2). Above the
# bound on their number there is one path, which starts with `path_bound_mark` (P9). With `with_namespaces`, the
# Namespace of a Gateway, ListenerSet, route, frontend or backend is directly above it (P3).
paths(node, with_namespaces) := {array.concat(above, [node]) | some above in paths_to_object(object_key, with_namespaces)} if {
	not index.has_extension_links
	[object_key, _] := split(node, "#")
	not startswith(node, "core/Service/")
} else := {[path_bound_mark, node]} if {
	is_crowded(keys.whole(node))
} else := paths_to_object(node, with_namespaces) if {
	not index.has_extension_links
	index.facts(node)
} else := _paths_to(node, with_namespaces) if {
	not is_port(node)
} else := _extend(_paths_to(keys.parse(node).object, with_namespaces), node, with_namespaces)

# The paths to an object without frontends above it, in a cluster without links of extension modules. A route is below
# listeners, so no search is needed.
paths_to_object(object_key, with_namespaces) := paths_through_listeners if {
	known := index.facts(object_key)
	known.parents
	not known.frontends
	own := step(object_key, with_namespaces)
	paths_through_listeners := {array.flatten([above, listener, own]) |
		some listener in parents_at(levels.of_type(known.type), object_key)
		some above in paths_to_gateway(keys.whole(listener), with_namespaces)
	}
	paths_through_listeners != set()
} else := paths_to_gateway(object_key, with_namespaces)

# The same for an object with listeners. Only its class is above a Gateway, which saves a third of the expressions of `effective` of one rule.
paths_to_gateway(object_key, with_namespaces) := {array.concat([class | some class in parents_at("Gateway", object_key)], step(object_key, with_namespaces))} if {
	index.facts(object_key).class[0]
} else := _paths_to(object_key, with_namespaces)

_paths_to(node, with_namespaces) := {[at | some on in path; some at in step(on, with_namespaces)] | some path in _plain_paths(node)} if {
	not index.has_extension_links
} else := {[at | some on in path; some at in step(on, with_namespaces)] |
	some path in _plain_paths(node)
	not delegates(node)
	not misses_matches(path)
}

# The links of extension modules can form a cycle: OPA ends a path before the first repeated key (semantics P7), and a link
# of a node to itself leads nowhere. They can also make a path longer than the bound.
_plain_paths(node) := {array.reverse(path) | some path in _paths_upward(node)} if {
	not index.has_extension_links
} else := {array.concat([path_bound_mark | count(path) > path_bound], array.reverse(array.slice(path, 0, path_bound + 1))) |
	some path in _paths_upward(node)
}

_paths_upward(node) := graph.reachable_paths(links, {node}) if {
	links := {below: above | some below in reach("nodes above", {node}, path_bound); above := parents(below) - {below}}
}

# The paths to a backend, or to a port of one, that continue these paths to a rule; `with_namespaces` as in `paths`.
paths_below(aboves, node, with_namespaces) := _extend(aboves, node, with_namespaces) if {
	not is_port(node)
} else := _extend(_extend(aboves, keys.parse(node).object, with_namespaces), node, with_namespaces)

_extend(aboves, node, with_namespaces) := {array.concat(above, tail) | some above in (aboves | {[] | aboves == set()})} if {
	not is_port(node)
	tail := step(node, with_namespaces)
} else := extended if {
	extended := {array.concat(above, [node]) | some above in aboves; reaches_port(above, node)}
	count(extended) > 0
} else := {array.concat(step(keys.parse(node).object, with_namespaces), [node])}

# A node with the Namespace above it, if that exists.
step(node, false) := [node]

step(node, true) := [namespace, node] if {
	not contains(node, "#")
	parts := keys.parse(node)
	parts.namespace != "-"
	not _same_namespace_above(node)
	namespace := keys.format("", "Namespace", "", parts.namespace)
	exists(namespace)
} else := [node]

# The Namespace of a ListenerSet is already above its Gateway if both are in the same namespace.
_same_namespace_above(node) if {
	levels.of(node) == "ListenerSet"
	some gateway in parents(node)
	keys.parse(gateway).namespace == keys.parse(node).namespace
}

# A list of sets: these nodes, then the nodes that each further step in a direction reaches, at most `depth` steps. Rego
# has no recursion, so 16 steps are written out, in parts of four: most searches end in the first.
frontiers(direction, nodes, depth) := array.flatten([[nodes], a, b, c, d]) if {
	a := _four_steps(direction, [nodes], depth)
	b := _four_steps(direction, a, depth - 4)
	c := _four_steps(direction, b, depth - 8)
	d := _four_steps(direction, c, depth - 12)
}

# The next four steps after `done`; none where these end without nodes.
_four_steps(direction, done, left) := [a, b, c, d] if {
	last := done[count(done) - 1]
	last != set()
	a := _next(direction, last, left)
	b := _next(direction, a, left - 1)
	c := _next(direction, b, left - 2)
	d := _next(direction, c, left - 3)
} else := []

_next(direction, nodes, left) := next_step(direction, nodes) if {
	left > 0
	nodes != set()
} else := set()

# All nodes that steps in a direction reach from these nodes, including these nodes.
reach(direction, nodes, depth) := {node | some frontier in frontiers(direction, nodes, depth); some node in frontier}

# A route with many parents, listeners and rules has thousands of paths to one Service, and a tenant may create several
# such routes. While OPA evaluates a query, it commits no write, so other clients wait for the result (semantics P9).

# The maximum number of paths to one node, and to the targets of one query together.
paths_bound := 4096

# An object or frontend has more paths than the bound. Policies above it are not computed there.
is_crowded(node) if {
	path_count(node) > paths_bound
} else := false

# The number of paths to an object or frontend by Gateway API's own links: to a backend through each rule that names it,
# from each listener and frontend above the route. The cost is that of the routes, not of the paths.
path_count(node) := count(parents(node)) if {
	index.facts(node).parents
} else := sum([number |
	some route_key in index.declared_parents(node)
	rules := count([backends | some backends in rule_backends(route_key); backends[node]])
	number := rules * max([1, count(parents(route_key))])
]) if {
	levels.of(node) == "Backend"
} else := count(parents(node))

# The nodes on all paths to a node, without Namespaces. The cost is that of the nodes, not of the paths.
nodes_above(node) := {above | some path in paths(node, false); some above in path} if {
	is_port(node)
} else := {node} | reach("nodes above", {keys.whole(node)}, path_bound)

next_step("nodes above", nodes) := {parent | some node in nodes; some parent in parents(node)}

# The node at which a path was cut because of a cycle of extension modules: it is above the path's start, and on the
# path. Undefined if the path was not cut.
cut_node(path) := repeated[0] if {
	start := [node | some node in array.slice(path, 0, 2); levels.of(node) != "Namespace"][0]
	repeated := sort([parent | some parent in parents(start); parent in path])
	count(repeated) > 0
}

# The nodes above an object or frontend that extension modules declare, or that delegate to a route, if both ends exist.
extension_parents(node) := {parent |
	some parent in extended_above(node)
	canonical_key(parent) == parent
	canonical_key(node)
	not delegation_refusal(parent, node)
}

# The paths to an effective target for a policy kind: through the hierarchy for an Inherited kind, only the target,
# below its object, for a Direct one (semantics C2, P3). Paths below Gateways of controllers that the kind does not name
# are omitted (P8), and those to targets without the routes that the kind needs.
kind_paths(policy_kind, node) := all_kind_paths(policy_kind, node) if {
	not kinds.traits(policy_kind).omits
} else := {path |
	has_needed_routes(policy_kind, node)
	some path in all_kind_paths(policy_kind, node)
	not kept_off_by(policy_kind, path)
}

# Policies of a kind that needs routes act at listeners with routes alone: a Gateway is not counted beside its listeners.
has_needed_routes(policy_kind, _) if not kinds.get(policy_kind).needsRoutes

has_needed_routes(_, node) if {
	levels.of(node) == "Listener"
	count(children(node)) > 0
}

# As `kind_paths`, including the omitted ones.
all_kind_paths(policy_kind, node) := {array.concat([keys.parse(node).object | contains(node, "#")], [node])} if {
	kinds.is_direct(policy_kind)
} else := paths(node, kinds.names_namespaces(policy_kind))

# The paths among these that count for a policy kind: if the kind names `controllers`, those that are not below a
# GatewayClass of another controller. A missing class has no other controller (semantics P8).
counted_paths(policy_kind, all_paths) := all_paths if {
	not kinds.get(policy_kind).controllers
} else := {path | some path in all_paths; not _other_controller(policy_kind, path)}

# The GatewayClass of another controller at the root of a path; undefined if a policy kind counts on the path.
_other_controller(policy_kind, path) := path[0] if {
	startswith(path[0], "gateway.networking.k8s.io/GatewayClass/")
	not lookup.get(path[0]).spec.controllerName in kinds.get(policy_kind).controllers
}

# The GatewayClass that excludes a policy kind from one of its `all_kind_paths`. For a Direct kind, whose path is its
# target only, the first one above the target, if no path to the target counts.
kept_off_by(policy_kind, path) := _other_controller(policy_kind, path) if {
	not kinds.is_direct(policy_kind)
} else := sort({_other_controller(policy_kind, whole) | some whole in paths(node, false)})[0] if {
	node := path[count(path) - 1]
	count(counted_paths(policy_kind, paths(node, false))) == 0
}

# The controller, other than those that a policy kind names, that serves one of its `all_kind_paths`.
other_controller(policy_kind, path) := lookup.get(kept_off_by(policy_kind, path)).spec.controllerName if {
	kinds.get(policy_kind).controllers
}

# The names of the GatewayClasses that a path runs through. A Gateway belongs to the class that it names, whether that
# exists (semantics P2) and is on the path or not.
classes(path) := {keys.parse(node).name |
	some node in path
	levels.of(node) == "GatewayClass"
} | {class |
	some node in path
	keys.parse(node).type == "gateway.networking.k8s.io/Gateway"
	class := lookup.get(keys.parse(node).object).spec.gatewayClassName
}

# A path counts for requests from a namespace ("": from any, so only paths that are the same for all). A path through a
# frontend counts for the routes of the frontend's own namespace, the producer's, unless the source has a consumer route
# for it; and for a consumer route of the source (Gateway API, ParentReference.namespace; semantics P6).
counts_for(path, source) if {
	every pair in _through_frontends(path) {
		_route_counts(pair[0], pair[1], source)
	}
}

consumers(path) := {namespace |
	some [frontend_node, route_key] in _through_frontends(path)
	namespace := keys.parse(route_key).namespace
	namespace != keys.parse(frontend_node).namespace
}

# The namespaces whose consumer routes replace a producer's route on a path, which is ignored for them.
replacing_consumers(path) := {namespace |
	some [frontend_node, route_key] in _through_frontends(path)
	home := keys.parse(frontend_node).namespace
	keys.parse(route_key).namespace == home
	some namespace in ({keys.parse(child).namespace | some child in index.declared_children(frontend_node)} - {home})
	not _route_counts(frontend_node, route_key, namespace)
}

# The frontends of a path, each with the route below it; a Namespace may be between them.
_through_frontends(path) := {[node, route_key] |
	some position, node in path
	keys.is_frontend(node)
	route_key := [below | some below in array.slice(path, position + 1, position + 3); levels.of(below) == "Route"][0]
}

_route_counts(frontend_node, route_key, source) if count(mesh_ports(frontend_node, route_key, source)) > 0
