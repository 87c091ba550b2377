package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The nodes directly below a node by accepted links: the sections of an object, and the nodes that have it among their
# `parents`. The objects of a Namespace are in `members`.
children(node) := union({_sections_below(node), _backends_below(node), object.get(_linked_below(keys.whole(node)), node, set())})

_sections_below(node) := accepted_sections(node) if {
	levels.by_type[keys.type_of(node)].section
	not regex.match(`[#@]`, node)
	exists(node)
} else := set()

# The rules of a route declare the nodes below them.
_backends_below(node) := {backend |
	some backend, numbers in rule_backends(keys.parse(node).object)[node]
	levels.of(backend) != "Route"
	exists(backend)
	leads_to(keys.type_of(node), backend, numbers)
} if {
	contains(node, "#")
	levels.of(node) == "Rule"
} else := set()

# The objects that name another object as their parent, by the node of that object: evaluated once for all of them.
_linked_below(object_key) := {} if {
	levels.of(object_key) == "Route"
	not index.has_extension_links
} else := {parent: below |
	parents_of := {child: _parents_within(object_key, child) |
		some declared in _declared_links(object_key)
		some child in _roles(declared)
		exists(trim_suffix(child, "@frontend"))
	}
	some parent in union({above | some above in parents_of})
	below := {child | some child, above in parents_of; parent in above}
}

# The objects that are below an object by declared links, with those that a rule names by a label or an asterisk.
_declared_links(object_key) := index.declared_children(object_key) if {
	not index.has_extension_links
} else := {named | some declared in index.declared_children(object_key); some named in routes_named(declared)} | placed_below(object_key)

_parents_within(object_key, child) := {parent | some parent in parents(child); keys.whole(parent) == object_key} if {
	levels.of(object_key) != "Route"
} else := extension_parents(child)

# The topmost nodes of a namespace, without sections and the nodes below: the nodes below its Namespace (semantics P3).
members(namespace) := {key |
	some key in _objects_of_namespace(namespace)
	has_place(trim_suffix(key, "@frontend"))
}

next_step("below", nodes) := {child | some node in nodes; some child in children(node)}

# An object and all objects below it, by declared links, whether they count or not: the objects that a change of the
# object may affect. A Namespace contains its objects, and a backend is a frontend too (semantics K4). Bounded like
# paths; a step follows one declared link.
objects_below(object_key) := reach("declared below", _roles(object_key), _declared_depth)

# Each object of the longest path is one step.
_declared_depth := 9

# The result of one step in a direction: "declared below", ["declared below", bound] (at most so many, the first by
# key), "declared above", or, by accepted links, "below" or "nodes above".
next_step("declared below", object_keys) := _directly_below(object_keys)
next_step(["declared below", bound], object_keys) := {key | some key in array.slice(sort(_directly_below(object_keys)), 0, bound)}

next_step("declared above", object_keys) := {parent | some key in object_keys; some parent in index.declared_parents(key)} if {
	not index.has_extension_links
} else := {parent | some key in object_keys; some named in _names_of(key); some parent in index.declared_parents(named)} | {parent |
	some key in object_keys
	some parent in placed_above(key)
}

# The keys by which links may name an object: a rule may delegate to all routes of a namespace.
_names_of(key) := {key, every_route(key)} if {
	levels.of(key) == "Route"
} else := {key}

_directly_below(object_keys) := ({child |
	some key in object_keys
	some child in index.declared_children(key)
} | {child |
	some key in object_keys
	startswith(key, "core/Namespace/")
	some child in _objects_of_namespace(keys.parse(key).name)
}) | {below |
	index.has_extension_links
	some key in object_keys
	some below in _further_below(key)
}

_further_below(key) := routes_named(key) if {
	endswith(key, "/*")
} else := placed_below(key)

# An object, and its frontend if a route uses it as one.
_roles(object_key) := {object_key, keys.frontend(object_key)} if {
	levels.of(object_key) == "Backend"
	count(index.declared_children(keys.frontend(object_key))) > 0
} else := {object_key}

# The objects of a namespace that have a place in the hierarchy, and so a Namespace above them.
_objects_of_namespace(namespace) := {key |
	some type, at in levels.by_type
	not at.object in {"GatewayClass", "Namespace"}
	some name, _ in lookup.objects_in(type, namespace)
	some key in _roles(concat("/", [type, namespace, name]))
} | {key | some object_key in index.members(namespace); some key in _roles(object_key)}

# The reverse: an object or frontend and everything above it by declared links, each with its Namespace, and the object
# of a frontend.
objects_above(key) := (above | objects) | {keys.format("", "Namespace", "", namespace) |
	some object_key in objects
	namespace := keys.parse(object_key).namespace
	_is_member(object_key, namespace)
} if {
	above := declared_upward(key)
	objects := {trim_suffix(found, "@frontend") | some found in above}
}

# One object is in the result of `_objects_of_namespace`.
_is_member(object_key, namespace) if {
	lookup.get(object_key)
	level := levels.by_type[keys.parse(object_key).type].object
	not level in {"GatewayClass", "Namespace"}
} else if {
	object_key in index.members(namespace)
}

# The objects directly below an object by declared links, including those below a ListenerSet among them; see
# `objects_below`.
step_below(object_key) := next | _directly_below({key | some key in next; levels.of(key) == "ListenerSet"}) if {
	next := _directly_below(_roles(object_key))
}

# The same, with at most `bound` objects for each step, the first by key: `{objects, whole}`. `whole` is false if there
# are more.
some_below(object_key, bound) := {"objects": union({frontier | some frontier in found}), "whole": whole} if {
	found := frontiers(["declared below", bound], _roles(object_key), _declared_depth)
	cut_node := [frontier | some frontier in array.slice(found, 0, _declared_depth); count(_directly_below(frontier)) > bound]
	whole := cut_node == []
}

# The objects whose listeners or links an object affects because both claim the same: for a ListenerSet the ListenerSets
# with equal claims at their Gateway (see `unaccepted_listeners`), for a Namespace those of its ListenerSets, for a
# route the routes of other types at its frontends (see `mesh_ports`). The object itself is not included.
rivals(object_key) := {rival | some path in _claims_of(object_key); some rival in rivals_at(object_key, path)} - {object_key}

# The same for an index path, `["claims", gateway, port, slot]` or `["children", frontend]`, that an object has or had:
# the routes that remain at a frontend may be of one type, other than that of the route that left.
rivals_at(object_key, path) := (union({index.claimants(gateway, port, other) |
	["claims", gateway, port, slot] = path
	some other in _slots_against(gateway, port, slot)
}) | {route_key |
	["children", frontend_node] = path
	keys.is_frontend(frontend_node)
	siblings := index.declared_children(frontend_node)
	count({keys.type_of(sibling) | some sibling in (siblings | {object_key})}) > 1
	some route_key in siblings
}) | {gateway |
	["claims", gateway, port, slot] = path
	_shares_hostnames(gateway, port, slot)
}

# A listener with this slot takes hostnames from other listeners of its port, or these from it (see `is_isolated`).
_shares_hostnames(gateway, port, slot) if {
	[transport, hostname] := split(slot, "/")
	some other in (index.claimed_slots(gateway, port) | object.keys(object.get(index.facts(gateway).claims, port, {})))
	other != slot
	[transport, name] = split(other, "/")
	_is_within(hostname, name)
}

_is_within(hostname, name) if endswith(hostname, trim_prefix(name, "*"))
_is_within(hostname, name) if endswith(name, trim_prefix(hostname, "*"))

_claims_tcp(_, _, "TCP")
_claims_tcp(gateway, port, _) if tcp_claimed(gateway, port)

_slots_against(gateway, port, slot) := {slot} | {other |
	index.is_stream(slot)
	_claims_tcp(gateway, port, slot)
	some other in index.claimed_slots(gateway, port)
	index.is_stream(other)
}

_claims_of(object_key) := _claims_in(object_key) if {
	startswith(object_key, _listener_set)
} else := {path |
	some name, _ in lookup.objects_in(trim_suffix(_listener_set, "/"), keys.parse(object_key).name)
	some path in _claims_in(concat("", [_listener_set, keys.parse(object_key).name, "/", name]))
} if {
	keys.type_of(object_key) == "core/Namespace"
} else := {["children", ref.node] | some ref in index.facts(object_key).frontends} if {
	index.facts(object_key).frontends
} else := set()

_claims_in(listener_set) := {["claims", gateway, port, slot] |
	gateway := index.gateway_of(lookup.get(listener_set))
	some port, slots in index.facts(listener_set).claims
	some slot, _ in slots
}

_listener_set := "gateway.networking.k8s.io/ListenerSet/"
