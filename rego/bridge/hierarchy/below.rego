package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   An object and all objects below it, by declared links, whether they count or not: what a change of the object may
#   concern. A Namespace holds its objects, and a backend is a frontend too (semantics K4). Bounded like paths; what a link
#   declares crosses one object a step.
objects_below(object_key) := union({zero, one, two, three, four, five, six, seven, eight, nine}) if {
	zero := roles(object_key)
	one := _directly_below(zero)
	two := _directly_below(one)
	three := _directly_below(two)
	four := _directly_below(three)
	five := _directly_below(four)
	six := _directly_below(five)
	seven := _directly_below(six)
	eight := _directly_below(seven)
	nine := _directly_below(eight)
}

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
# description: An object, and the frontend that it is where a route says so.
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
} | {key | some object_key in index.held(namespace); some key in roles(object_key)}

# METADATA
# description: |
#   The other way round: an object or frontend and all above it by declared links, each with the Namespace that holds it, and
#   the object of a frontend.
objects_above(key) := (above | objects) | {keys.format("", "Namespace", "", namespace) |
	some object_key in objects
	namespace := keys.parse(object_key).namespace
	_is_held(object_key, namespace)
} if {
	above := declared_upward(key)
	objects := {trim_suffix(found, "@frontend") | some found in above}
}

# What `objects_of_namespace` names, asked for one object.
_is_held(object_key, _) if {
	not levels.by_type[keys.parse(object_key).type].object in {"GatewayClass", "Namespace"}
	levels.by_type[keys.parse(object_key).type]
	lookup.get(object_key)
}

_is_held(object_key, namespace) if object_key in index.held(namespace)

# METADATA
# description: What stands directly below an object by declared links, and below a ListenerSet among that; see `objects_below`.
step_below(object_key) := next | _directly_below({key | some key in next; levels.of(key) == "ListenerSet"}) if {
	next := _directly_below(roles(object_key))
}

# METADATA
# description: |
#   The same, of at most `bound` objects a step, the first by key: `{objects, whole}`. `whole` is false where there are more.
some_below(object_key, bound) := {"objects": union({step.objects | some step in steps}), "whole": all_whole} if {
	zero := {"objects": roles(object_key), "whole": true}
	one := _first_below(zero.objects, bound)
	two := _first_below(one.objects, bound)
	three := _first_below(two.objects, bound)
	four := _first_below(three.objects, bound)
	five := _first_below(four.objects, bound)
	six := _first_below(five.objects, bound)
	seven := _first_below(six.objects, bound)
	eight := _first_below(seven.objects, bound)
	nine := _first_below(eight.objects, bound)
	steps := [zero, one, two, three, four, five, six, seven, eight, nine]
	all_whole := {step.whole | some step in steps} == {true}
}

_first_below(object_keys, bound) := {"objects": found, "whole": true} if {
	found := _directly_below(object_keys)
	count(found) <= bound
} else := {"objects": {key | some key in array.slice(sort(_directly_below(object_keys)), 0, bound)}, "whole": false}
