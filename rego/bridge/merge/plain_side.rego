package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   A keyed side in its plain form, `{spec, origins}`. Its lists are lists again, and its pointers have places.
plain_side(side) := side if {
	not side.rules
} else := {"spec": spec, "origins": origins} if {
	names := {leaves.segments(pointer): {name: place | some place, name in list.order} | some pointer, list in side.lists}
	spec := json.patch(side.spec, [operation |
		some [_, pointer] in sort([[count(split(pointer, "/")), pointer] |
			some pointer in (object.keys(side.lists) | side.units)
		])
		segments := leaves.segments(pointer)
		value := object.get(side.spec, segments, null)
		operation := {
			"op": "replace",
			"path": _plain_path(segments, names),
			"value": _plain_value(value, object.get(side.lists, pointer, null)),
		}
		_is_still_keyed(value, pointer, side)
	])
	origins := {_plain_pointer(leaves.segments(pointer), names): origin | some pointer, origin in side.origins}
}

# A value of another type may have replaced the keyed value.
_is_still_keyed(value, pointer, side) if {
	side.lists[pointer]
	is_object(value)
}

_is_still_keyed(value, pointer, side) if {
	pointer in side.units
	is_array(value)
}

_plain_value(value, null) := value[0]

_plain_value(value, list) := [value[name] | some name in list.order] if list.append == false

_plain_value(value, list) := [value[name][0] | some name in list.order] if list.append

_plain_pointer(segments, names) := leaves.pointer(_plain_path(segments, names))

# As an array of keys, which json.patch needs for an empty key.
_plain_path(segments, names) := [segment |
	some index, raw in segments
	segment := _place(raw, object.get(names, [array.slice(segments, 0, index)], null))
]

_place(raw, null) := raw

_place(raw, places) := sprintf("%d", [places[raw]]) if places != null
