package bridge.constraints

# METADATA
# description: |
#   Layered parameters, the lowest first: maps merge, a list appends its items that the list below lacks, any other
#   value replaces the one below.
merge_parameters(layers) := json.patch(whole, [{"op": "replace", "path": path, "value": value} |
	some path in _list_paths(layers)
	is_array(object.get(whole, path, null))
	value := _appended(_lists(layers, path))
]) if {
	whole := object.union_n(layers)
}

# The paths of lists in the layers above the first. Lists within lists are ordinary values.
_list_paths(layers) := {path |
	some place, layer in layers
	place > 0
	walk(layer, [path, value])
	is_array(value)
	every segment in path {
		is_string(segment)
	}
}

# The lists at a path, above the last layer that has another value there, or instead of a map above it.
_lists(layers, path) := [list |
	some place, layer in layers
	place > _last(_replacing(layers, path))
	list := object.get(layer, path, null)
	is_array(list)
]

_replacing(layers, path) := {place |
	some place, layer in layers
	some length in numbers.range(1, count(path))
	value := object.get(layer, array.slice(path, 0, length), _absent)
	value != _absent
	not _leads_on(value, length == count(path))
}

_leads_on(value, true) if is_array(value)

_leads_on(value, false) if is_object(value)

_absent := "\u0000"

_last(places) := max(places | {-1})

# The first list, followed by the new items of each further list.
_appended(lists) := array.concat(lists[0], [item |
	further := [item | some place, list in lists; place > 0; some item in list]
	some place, item in further
	not item in lists[0]
	not item in array.slice(further, 0, place)
])
