package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   A side in the form for merging by rules. Lists are objects by their items' keys, with their order in `lists`, so
#   pointers do not depend on places. A unit, and an appended item, is a list of one item, so it is not traversed
#   (`units`). An appended item's key is its policy and its place among that policy's items. `origins` may be those of
#   leaves by other rules: the origin of a leaf is that at its pointer, otherwise that above it, otherwise all those
#   below it.
keyed_side(spec, origins, merge_rules) := {
	"spec": keyed_spec,
	"origins": _origins_in(leaves.pointers(keyed_spec), {_in_keyed(pointer, names): origin | some pointer, origin in origins}),
	"lists": {pointer: {"order": names[path], "append": rule.how == "append"} |
		some path, rule in places
		rule.how != "unit"
		pointer := _pointer_in(path, names)
	},
	"units": {_pointer_in(path, names) | some path, rule in places; rule.how == "unit"},
	"rules": merge_rules,
} if {
	places := rules_by_path(spec, merge_rules)
	names := {path: _names(object.get(spec, path, []), path, rule, origins) | some path, rule in places; rule.how != "unit"}
	keyed_spec := json.patch(spec, [operation |
		some [_, path] in sort([[count(path), path] | some path, _ in places])
		operation := {
			"op": "replace",
			"path": _path_in(path, names),
			"value": _shaped(object.get(spec, path, null), places[path], object.get(names, [path], [])),
		}
	])
}

_names(list, _, rule, _) := [json.marshal(item[rule.field]) | some item in list] if rule.how == "key"

_names(list, path, rule, origins) := [name |
	some index, owner in owners
	name := sprintf("%s#%d", [owner, places[owner][index]])
] if {
	rule.how == "append"
	pointer := leaves.pointer(path)
	owners := [concat(" ", as_list(origin_of(sprintf("%s/%d", [pointer, index]), origins))) | some index, _ in list]
	places := {owner: _nth([index | some index, other in owners; other == owner]) | some owner in {owner | some owner in owners}}
}

_nth(indices) := {index: nth | some nth, index in indices}

_shaped(value, rule, _) := [value] if rule.how == "unit"

_shaped(list, rule, names) := {names[index]: item | some index, item in list} if rule.how == "key"

_shaped(list, rule, names) := {names[index]: [item] | some index, item in list} if rule.how == "append"

# A path (with numbers for list items) as a pointer in the keyed form.
_pointer_in(path, names) := leaves.pointer(_path_in(path, names))

# The same as an array of keys, which json.patch needs for an empty key.
_path_in(path, names) := [segment |
	some index, raw in path
	segment := _segment_in(raw, object.get(names, [array.slice(path, 0, index)], []))
]

_segment_in(raw, _) := raw if is_string(raw)

_segment_in(raw, names) := names[raw] if is_number(raw)

# A pointer of the plain form as a pointer of the keyed form.
_in_keyed(pointer, names) := pointer if {
	not _in_a_list(pointer, names)
} else := _pointer_in(_numbered(leaves.segments(pointer), names), names)

_in_a_list(pointer, names) if {
	some path, _ in names
	startswith(pointer, concat("", [leaves.pointer([segment | some raw in path; segment := sprintf("%v", [raw])]), "/"]))
}

_numbered(segments, names) := [segment |
	some index, raw in segments
	segment := _number(raw, _lists_at(array.slice(segments, 0, index), names))
]

_number(raw, []) := raw

_number(raw, lists) := to_number(raw) if count(lists) > 0

_lists_at(segments, names) := [path |
	some path, _ in names
	[text | some raw in path; text := sprintf("%v", [raw])] == segments
]

_origins_in(pointers, origins) := {pointer: origins[""] | some pointer in pointers} if {
	object.keys(origins) == {""}
} else := {pointer: origin_of(pointer, origins) | some pointer in pointers}

# METADATA
# description: |
#   The origin of a leaf, from origins that may be of larger or smaller leaves: one policy, or a sorted list of several.
origin_of(pointer, origins) := origins[pointer] if {
	true
} else := nearest[count(nearest) - 1] if {
	segments := split(pointer, "/")
	nearest := [origins[above] | some end in numbers.range(1, count(segments) - 1); above := concat("/", array.slice(segments, 0, end))]
	count(nearest) > 0
} else := one_or_all({policy |
	some below, origin in origins
	startswith(below, concat("", [pointer, "/"]))
	some policy in as_list(origin)
})

# METADATA
# description: |
#   The origin for a set of policies: the policy itself if there is only one.
one_or_all(policies) := [policy | some policy in policies][0] if {
	count(policies) == 1
} else := sort([policy | some policy in policies])

# METADATA
# description: The policies of an origin, which may be several (semantics F9).
as_list(origin) := [origin] if is_string(origin)

as_list(origin) := origin if is_array(origin)
