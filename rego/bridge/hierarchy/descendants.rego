package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   An object and all objects below it, by declared links, whether they count or not: the objects that a change of the
#   object may affect. A Namespace contains its objects, and a backend is a frontend too (semantics K4). Bounded like
#   paths; a step follows one declared link.
objects_below(object_key) := reach("declared below", roles(object_key), _declared_depth)

# Each object of the longest path is one step.
_declared_depth := 9

# METADATA
# description: |
#   The result of one step in a direction: "declared below", ["declared below", bound] (at most so many, the first by
#   key), "declared above", "below" and "nodes above" (by links that count), or "above", which maps paths to paths.
next_step("declared below", object_keys) := _directly_below(object_keys)

next_step(["declared below", bound], object_keys) := _first(_directly_below(object_keys), bound)

next_step("declared above", object_keys) := {parent | some key in object_keys; some parent in index.declared_parents(key)}

_directly_below(object_keys) := {child |
	some key in object_keys
	some child in index.declared_children(key)
} | {child |
	some key in object_keys
	parts := keys.parse(key)
	parts.type == "core/Namespace"
	some child in objects_of_namespace(parts.name)
}

# METADATA
# description: An object, and its frontend if a route uses it as one.
roles(object_key) := {object_key, keys.frontend(object_key)} if {
	levels.of(object_key) == "Backend"
	count(index.declared_children(keys.frontend(object_key))) > 0
} else := {object_key}

# METADATA
# description: The objects of a namespace that have a place in the hierarchy, and so a Namespace above them.
objects_of_namespace(namespace) := {key |
	some type, at in levels.by_type
	not at.object in {"GatewayClass", "Namespace"}
	some name, _ in lookup.objects_in(type, namespace)
	some key in roles(concat("/", [type, namespace, name]))
} | {key | some object_key in index.members(namespace); some key in roles(object_key)}

# METADATA
# description: |
#   The reverse: an object or frontend and everything above it by declared links, each with its Namespace, and the
#   object of a frontend.
objects_above(key) := (above | objects) | {keys.format("", "Namespace", "", namespace) |
	some object_key in objects
	namespace := keys.parse(object_key).namespace
	_is_member(object_key, namespace)
} if {
	above := declared_upward(key)
	objects := {trim_suffix(found, "@frontend") | some found in above}
}

# One object is in the result of `objects_of_namespace`.
_is_member(object_key, _) if {
	not levels.by_type[keys.parse(object_key).type].object in {"GatewayClass", "Namespace"}
	levels.by_type[keys.parse(object_key).type]
	lookup.get(object_key)
}

_is_member(object_key, namespace) if object_key in index.members(namespace)

# METADATA
# description: |
#   The objects directly below an object by declared links, including those below a ListenerSet among them; see
#   `objects_below`.
step_below(object_key) := next | _directly_below({key | some key in next; levels.of(key) == "ListenerSet"}) if {
	next := _directly_below(roles(object_key))
}

# METADATA
# description: |
#   The same, with at most `bound` objects for each step, the first by key: `{objects, whole}`. `whole` is false if
#   there are more.
some_below(object_key, bound) := {"objects": union({frontier | some frontier in found}), "whole": whole} if {
	found := frontiers(["declared below", bound], roles(object_key), _declared_depth)
	cut_node := [frontier | some frontier in array.slice(found, 0, _declared_depth); count(_directly_below(frontier)) > bound]
	whole := cut_node == []
}

_first(object_keys, bound) := object_keys if {
	count(object_keys) <= bound
} else := {key | some key in array.slice(sort(object_keys), 0, bound)}
