package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   A policy's spec as a side `{spec, origins, lists, units}` for merging by rules. A list merged by key is an object by
#   its items' keys, with their order in `lists`, so pointers do not depend on places. A unit is a list of one item, so
#   it is not traversed (`units`). Without rules, every list is a leaf.
keyed_side(spec, policy, []) := {"spec": spec, "origins": _origins(spec, policy)}

keyed_side(spec, policy, merge_rules) := {
	"spec": keyed_spec,
	"origins": _origins(keyed_spec, policy),
	"lists": {leaves.pointer(_path_in(path, names)): order | some path, order in names},
	"units": {leaves.pointer(_path_in(path, names)) | some path, rule in places; rule.how == "unit"},
} if {
	merge_rules != []
	places := rules_by_path(spec, merge_rules)
	names := {path: [json.marshal(name) | some index, item in object.get(spec, path, []); name := _item_name(rule.field, item, policy, index)] |
		some path, rule in places
		rule.how == "key"
	}
	keyed_spec := json.patch(spec, [{"op": "replace", "path": _path_in(path, names), "value": value} |
		some [_, path] in sort([[count(path), path] | some path, _ in places])
		value := _keyed_value(object.get(spec, path, null), object.get(names, [path], null))
	])
}

# Items without names are of their policy alone.
_item_name("", _, policy, index) := [policy, index]
_item_name(field, item, _, _) := item[field] if field != ""

_origins(spec, policy) := {pointer: policy | some pointer in leaves.pointers(spec)}

_keyed_value(value, null) := [value]

_keyed_value(list, names) := {names[index]: item | some index, item in list} if names != null

# A path with numbers for list items as an array of keys, which json.patch needs for an empty key.
_path_in(path, names) := [segment |
	some index, raw in path
	segment := object.get(names, [array.slice(path, 0, index), raw], raw)
]

# METADATA
# description: |
#   Sides merged in order, the lowest precedence first, see `patch_sides`. Lists merged by key have the items of the
#   highest precedence first (semantics F8). The result is a side.
merge_sides(sides) := patch_sides(sides) if {
	not sides[0].lists
} else := object.union(merged, {
	"lists": {pointer: order |
		some pointer in {pointer | some side in alike; some pointer, _ in side.lists}
		items := object.get(merged.spec, leaves.segments(pointer), null)
		is_object(items)
		names := [name | some side in array.reverse(alike); some name in side.lists[pointer]; name in object.keys(items)]
		order := [name | some index, name in names; not name in array.slice(names, 0, index)]
	},
	"units": {pointer | some side in alike; some pointer in side.units},
}) if {
	alike := [_without_other_shapes(side, array.slice(sides, index + 1, count(sides))) | some index, side in sides]
	merged := object.filter(patch_sides(alike), ["spec", "origins"])
}

# RFC 7386: an object replaces a list, and a list an object. Both are objects in a side, so the lower one is removed.
_without_other_shapes(side, higher) := side if {
	count(_replaced(side, higher)) == 0
} else := object.union_n([object.remove(side, ["spec", "origins", "lists"]), {
	"spec": spec,
	"origins": object.filter(side.origins, leaves.pointers(spec)),
	"lists": object.remove(side.lists, replaced),
}]) if {
	replaced := _replaced(side, higher)
	spec := json.remove(side.spec, [leaves.segments(pointer) | some pointer in replaced])
}

_replaced(side, higher) := {pointer | some other in higher; some pointer, _ in side.lists; _has_object(other, pointer)} | {pointer |
	some other in higher
	some pointer, _ in other.lists
	_has_object(side, pointer)
}

_has_object(side, pointer) if {
	not side.lists[pointer]
	is_object(object.get(side.spec, leaves.segments(pointer), null))
}

# METADATA
# description: A side in the form of results, `{spec, origins}`. Its lists are lists again, and its pointers have places.
plain_side(side) := object.filter(side, ["spec", "origins"]) if {
	object.get(side, "lists", {}) == {}
	object.get(side, "units", set()) == set()
} else := {"spec": spec, "origins": {leaves.pointer(_plain_path(leaves.segments(pointer), names)): origin |
	some pointer, origin in side.origins
}} if {
	names := {leaves.segments(pointer): {name: place | some place, name in order} | some pointer, order in side.lists}
	spec := json.patch(side.spec, [{"op": "replace", "path": _plain_path(segments, names), "value": value} |
		some [_, pointer] in sort([[count(leaves.segments(pointer)), pointer] | some pointer in (object.keys(side.lists) | side.units)])
		segments := leaves.segments(pointer)
		value := _plain_value(object.get(side.spec, segments, null), object.get(side.lists, pointer, null))
	])
}

# Another value may have replaced the list or the unit.
_plain_value(items, order) := [items[name] | some name in order] if is_object(items)

_plain_value(unit, null) := unit[0] if is_array(unit)

# As an array of keys, which json.patch needs for an empty key.
_plain_path(segments, names) := [segment |
	some index, raw in segments
	segment := _place(raw, object.get(names, [array.slice(segments, 0, index)], null))
]

_place(raw, null) := raw

_place(raw, places) := sprintf("%d", [places[raw]]) if places != null
