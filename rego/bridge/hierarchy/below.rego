package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   An object and all objects below it, by declared links, whether they count or not: what a change of the object may
#   concern. A Namespace holds its objects. Bounded like paths; what a link declares crosses one object a step.
objects_below(object_key) := (((({object_key} | one) | two) | three) | four) | five if {
	one := _directly_below({object_key})
	two := _directly_below(one)
	three := _directly_below(two)
	four := _directly_below(three)
	five := _directly_below(four)
}

_directly_below(object_keys) := {child |
	some key in object_keys
	some child in lookup.declared_children(key)
} | {child |
	some key in object_keys
	keys.parse(key).type == "core/Namespace"
	some child in _held_by(keys.parse(key).name)
}

# The objects of a namespace that have a place in the hierarchy, and so a Namespace above them.
_held_by(namespace) := {key |
	some type, at in levels
	at.object in {"Gateway", "Route", "Backend"}
	some name, _ in lookup.objects_in(type, namespace)
	key := concat("/", [type, namespace, name])
}
