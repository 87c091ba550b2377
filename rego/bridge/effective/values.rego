package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.merge

# What is in effect at a field, and whose it is: for guardrails, the targets without a value, expectations and the page.
# An effective policy is `{spec, origins}`, and a field a JSON pointer into its spec, in which `*` is any key or item, and
# an item of a list has its place or its key: the field by which the kind merges the list, else `name`. Where every policy
# applies, the field is one of each policy's spec.

# METADATA
# description: Why it is not known what is in effect. Undefined if it is.
unknown_because(effect) := effect.error.message

unknown_because(effect) := concat("; ", effect.incomplete)

# METADATA
# description: |
#   Every value of an effective policy at a field, sorted by path: `{path, name, value, policies}`. `path` is the pointer to
#   the value; in `name`, items are named as in the field, those of `*` by their keys. `policies` are those of which the
#   value or a part of it comes. A null is no value.
values_at(effect, field) := [{"path": path, "name": _pointer(found.named), "value": found.value, "policies": owners_at(effect.origins, found.place, path)} |
	some found in _values(effect, segments(field))
	path := _pointer(found.at)
]

# METADATA
# description: The name of a field in messages, from its JSON pointer, such as `rules[0].name`.
field_name(field) := leaves.dotted(field)

# METADATA
# description: An effective policy has a value at a field.
has_value(effect, field) if {
	object.get(effect.spec, segments(field), null) != null # the same with fewer expressions, where no item has a name
} else if count(_values(effect, segments(field))) > 0

# METADATA
# description: |
#   The values of an effective policy at a field and below it that have no fields themselves, in the form of `values_at`,
#   also inside of a merge unit. A list is one value, unless the kind merges it by key: then its items have values, and
#   `path` has their keys.
leaves_at(effect, field) := [{"path": _pointer(named), "value": value, "policies": owners_at(effect.origins, found.place, _pointer(at))} |
	some found in _values(effect, segments(field))
	walk(found.value, [below, value])
	at := array.concat(found.at, below)
	_is_leaf(effect, at, value)
	named := array.concat(found.named, [name |
		some depth, segment in below
		name := _named(effect, found, array.slice(below, 0, depth), segment)
	])
	count(named) == count(at)
]

# METADATA
# description: |
#   The fields of an effective policy for people, `{field, value, policies}`: each that the merge decided as one, by its JSON
#   pointer, in which an item of a list has its place. Where every policy applies, each spec is one. A field without a
#   `value` was removed by a null.
fields(effect) := [object.union(
	{"field": pointer, "policies": sort(merge.as_list(effect.origins[pointer]))},
	{"value": value | value := object.get({"": effect.spec}, path, null); value != null},
) |
	some [path, pointer] in sort([[split(pointer, "/"), pointer] | some pointer, _ in effect.origins])
] if {
	not regex.match(`/[0-9]|~`, concat("", object.keys(effect.origins))) # segments are the keys of objects as they are
} else := [object.union(
	{"field": pointer, "policies": sort(merge.as_list(effect.origins[pointer]))},
	{"value": value | value := values[pointer]},
) |
	some [_, pointer] in sort([[[_ordered(segment) | some segment in leaves.segments(pointer)], pointer] | some pointer, _ in effect.origins])
] if {
	values := {pointer: value |
		walk(effect.spec, [at, value])
		value != null
		pointer := _pointer(at)
		effect.origins[pointer]
	}
}

# METADATA
# description: An entry of effective policies with its `fields`; one without a spec, or none, is the same.
with_fields(entry) := object.union(entry, {"fields": fields(entry)}) if {
	true
} else := entry

# METADATA
# description: The same, if the query asks for `fields`.
as_asked(entry) := with_fields(entry) if {
	input.fields
} else := entry

# METADATA
# description: The same for a list.
all_as_asked(entries) := [with_fields(entry) | some entry in entries] if {
	input.fields
} else := entries

# Items of a list are in the order of their places, fields in that of their names.
_ordered(segment) := to_number(segment) if {
	regex.match(`^[0-9]+$`, segment)
} else := segment

# METADATA
# description: |
#   Why an effective policy cannot be judged at a field: a scalar is above it, or a list that has no such item and no names.
#   Undefined if it can.
obstacle(effect, field) := sort({text |
	path := segments(field)
	some [_, spec] in _specs(effect)
	some at, value in _reached(effect, spec, path)
	count(at) < count(path)
	text := _obstacle(effect, at, value, path[count(at)])
})[0]

_obstacle(_, at, value, _) := sprintf("%s is %s, which has no fields", [leaves.dotted(_pointer(at)), json.marshal(value)]) if {
	type_name(value) in {"boolean", "number", "string"}
}

_obstacle(effect, at, items, segment) := sprintf("%s is a list, and %q is not the place of an item", [leaves.dotted(_pointer(at)), segment]) if {
	is_array(items)
	segment != "*"
	not regex.match(`^[0-9]+$`, segment)
	_lacks_names(effect, at, items, segment)
	items != []
}

# A pointer with a slash too many names no item.
_lacks_names(_, _, _, "")

_lacks_names(effect, at, items, segment) if {
	segment != ""
	_keys(items, array.concat(_key_fields(effect, at), ["name"])) == []
}

# METADATA
# description: The segments of a JSON pointer, which may lack its first slash.
segments(field) := [] if {
	field == ""
} else := split(trim_prefix(field, "/"), "/") if {
	not contains(field, "~")
} else := leaves.segments(concat("", ["/", trim_prefix(field, "/")]))

_pointer(path) := leaves.pointer([sprintf("%v", [segment]) | some segment in path])

# The specs of an effective policy, each with the beginning of its origins.
_specs(effect) := [["", effect.spec]] if {
	is_object(effect.spec)
} else := [[sprintf("/%d", [place]), spec] | some place, spec in effect.spec] if {
	is_array(effect.spec)
} else := []

# `at` has the places of items, `named` their names as in the path, or for `*` their keys.
_values(effect, path) := [{"place": place, "at": at, "named": named, "value": value} |
	some [place, spec] in _specs(effect)
	some at, value in _reached(effect, spec, path)
	count(at) == count(path)
	named := [name | some depth, segment in path; name := _named_as(effect, spec, array.slice(at, 0, depth + 1), segment)]
]

_named_as(effect, spec, at, "*") := key if {
	above := array.slice(at, 0, count(at) - 1)
	key := _keys(object.get({"": spec}, array.concat([""], above), []), _key_fields(effect, above))[at[count(at) - 1]]
} else := at[count(at) - 1]

_named_as(_, _, _, name) := name if name != "*"

# The values of a spec at a path and above it, by their paths, in which items have their places as numbers.
_reached(effect, spec, path) := {path: value} if {
	not "*" in path
	value := object.get({"": spec}, array.concat([""], path), null)
	value != null
} else := reached if {
	reached := _reached_by_names(spec, path)
	not "*" in path
	every at, value in reached {
		_is_end(at, value, path)
	}
} else := {at: value |
	walk(spec, [at, value])
	value != null
	count(at) <= count(path)
	every depth, segment in at {
		_is_named(effect, spec, array.slice(at, 0, depth), segment, path[depth])
	}
}

_is_end(_, value, _) if not is_array(value)

_is_end(at, _, path) if count(at) == count(path)

_reached_by_names(spec, path) := {at: value |
	some length in numbers.range(0, count(path))
	at := array.slice(path, 0, length)
	value := object.get({"": spec}, array.concat([""], at), null)
	value != null
}

_is_named(_, _, _, _, "*")

_is_named(_, _, _, segment, segment)

_is_named(effect, spec, above, segment, name) if {
	is_number(segment)
	items := object.get({"": spec}, array.concat([""], above), [])
	name in ({sprintf("%d", [segment])} | {key |
		key := _keys(items, array.concat(_key_fields(effect, above), ["name"]))[segment]
	})
}

# The keys of the items of a list as texts, in their order; empty unless all have one.
_keys(items, fields) := found if {
	found := [key |
		some item in items
		key := [sprintf("%v", [item[field]]) | some field in fields; type_name(item[field]) in {"boolean", "number", "string"}][0]
	]
	count(found) == count(items)
} else := []

# The fields by which the kind of an effective policy merges the items of a list.
_key_fields(effect, at) := [rule.field |
	some rule in kinds.key_rules(kinds.get(_kind_of_effect(effect)))
	count(rule.segments) == count(at)
	every depth, segment in rule.segments {
		segment in {"*", at[depth]}
	}
]

_kind_of_effect(effect) := [type |
	some origin in effect.origins
	some policy in merge.as_list(origin)
	type := keys.type_of(policy)
	kinds.get(type) # an origin may be a rule of a route, see `as_served`
][0]

_is_leaf(_, _, value) if type_name(value) in {"boolean", "number", "string"}

_is_leaf(_, _, value) if value in {{}, []}

_is_leaf(effect, at, value) if {
	is_array(value)
	_keys(value, _key_fields(effect, at)) == []
}

# The name of a key or an item below a value; undefined for an item of a list that is one value.
_named(_, _, _, segment) := segment if is_string(segment)

_named(effect, found, below, place) := _keys(items, _key_fields(effect, array.concat(found.at, below)))[place] if {
	is_number(place)
	items := object.get({"": found.value}, array.concat([""], below), [])
}

# The policies with an origin at a pointer, else below it, or above it, as for a field of a merge unit or of a list's item.
owners_at(origins, "", pointer) := sort(merge.as_list(origins[pointer])) if {
	true
} else := sort({policy |
	some other, origin in origins
	_is_on_line(other, pointer)
	some policy in merge.as_list(origin)
})

owners_at(origins, place, _) := sort(merge.as_list(origins[place])) if place != ""

_is_on_line(one, other) if startswith(concat("", [one, "/"]), concat("", [other, "/"]))

_is_on_line(one, other) if startswith(concat("", [other, "/"]), concat("", [one, "/"]))
