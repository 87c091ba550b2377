# METADATA
# title: Merging
# description: |
#   The merge of specs. A side is `{spec, origins}`: `origins` maps the JSON pointer of each leaf to its policy.
#   `bridge.effective` decides which sides are merged, and in which order.
package bridge.merge

import data.bridge.lib.leaves

# A PolicyKind's `merge` as a list of rules `{segments, how, field}`, where `how` is unit or key; of several that match
# one pointer the first counts, so a unit is always a unit (semantics F8). A list with `level` comes from one level. One with `how` filled is about the whole spec:
# its empty lists are as if they were absent. Stored in `data.kinds`.
rules(settings) := array.flatten([
	[{"segments": leaves.segments(pointer), "how": "unit", "field": ""} | some pointer in object.get(settings, "units", [])],
	[{"segments": leaves.segments(pointer), "how": "key", "field": field} |
		some pointer, field in object.get(settings, "listKeys", {})
	],
	[{"segments": leaves.segments(pointer), "how": "key", "field": "", "level": true} | some pointer in object.get(settings, "levelLists", [])],
	[{"segments": [], "how": "filled", "field": ""} | settings.emptyLists == "Absent"],
])

_how_at(segment) := "key" if is_number(segment)
_how_at(segment) := "" if is_string(segment)

# The values of a spec that rules treat differently from RFC 7386, by path. Items of a list merged by key are traversed,
# units are not.
_rules_by_path(spec, merge_rules) := {path: rule |
	some path, rule in candidates
	every index, segment in path {
		object.get(candidates, [array.slice(path, 0, index), "how"], "") == _how_at(segment)
	}
} if {
	candidates := {path: rule |
		walk(spec, [path, value])
		type_name(value) in {"object", "array"}
		rule := [rule | some rule in merge_rules; _matches(rule.segments, path)][0]
		_fits(rule, value)
	}
}

# `*` is any one key, or any item of a list.
_matches(segments, path) if {
	count(segments) == count(path)
	every index, segment in segments {
		segment in {"*", path[index]}
	}
}

_fits(rule, _) if rule.how == "unit"

_fits(rule, value) if {
	rule.how == "key"
	rule.field == "" # items without names
	is_array(value)
}

# A list whose items lack the key, repeat one, or are not objects, is a leaf like any other.
_fits(rule, items) if {
	rule.how == "key"
	is_array(items)
	names := {item[rule.field] | some item in items; type_name(item[rule.field]) in {"string", "number", "boolean"}}
	count(names) == count(items)
}

# The merge strategies by name, with the name in messages (GEP-713, "Designing a merge strategy").
strategies := {
	"None": "None",
	"AtomicDefaults": "Atomic defaults",
	"AtomicOverrides": "Atomic overrides",
	"PatchDefaults": "Patch defaults",
	"PatchOverrides": "Patch overrides",
	"Custom": "Custom",
	"Additive": "Additive",
}

# GEP-713's order of assumed strategies ("Selecting a merge strategy at runtime").
assumed_order := ["AtomicDefaults", "PatchDefaults", "AtomicOverrides", "PatchOverrides", "Custom"]

# Sides applied one after the other as RFC 7386 patches, the lowest precedence first, except that a null stays in the
# result as a tombstone (semantics F3). `object.union_n` is that left fold: a null, a scalar or an array in the middle
# replaces the value of earlier specs, and a later object replaces it in turn. A leaf of the result belongs to the
# last side that has a leaf there, even with an equal value (semantics O2). A side without fields sets nothing; if no
# side has fields, the first remains (semantics O3).
_patch_sides(sides) := _patch_nonempty([side | some side in sides; side.spec != {}], sides)

_patch_nonempty([], sides) := sides[0]
_patch_nonempty([side], _) := side

_patch_nonempty(sides, _) := {"spec": spec, "origins": _remaining(object.union_n([side.origins | some side in sides]), spec)} if {
	count(sides) > 1
	spec := object.union_n([side.spec | some side in sides])
}

# The origins of a spec's leaves. The test whether a leaf is inside another saves 5% of the expressions of `effective`.
_remaining(origins, spec) := origins if {
	not strings.any_prefix_match(object.keys(origins), [concat("", [pointer, "/"]) | some pointer, _ in origins])
} else := object.filter(origins, leaves.pointers(spec))

# A policy's spec as a side `{spec, origins, lists, units}` for merging by rules. A list merged by key is an object by
# its items' keys, with their order in `lists`, so pointers do not depend on places. A unit is a list of one item, so it
# is not traversed (`units`). Without rules, every list is a leaf.
keyed_side(spec, policy, []) := {"spec": spec, "origins": _origins(spec, policy)}

keyed_side(whole, policy, merge_rules) := {
	"spec": keyed_spec,
	"origins": _origins(keyed_spec, policy),
	"lists": {leaves.pointer(_path_in(path, names)): order | some path, order in names},
	"units": {leaves.pointer(_path_in(path, names)) | some path, rule in places; rule.how == "unit"},
} if {
	merge_rules != []
	spec := _filled(whole, merge_rules)
	places := _rules_by_path(spec, merge_rules)
	names := {path: [json.marshal(name) | some index, item in object.get(spec, path, []); name := _item_name(rule.field, item, policy, index)] |
		some path, rule in places
		rule.how == "key"
	}
	keyed_spec := json.patch(spec, [{"op": "replace", "path": _path_in(path, names), "value": value} |
		some [_, path] in sort([[count(path), path] | some path, _ in places])
		value := _keyed_value(object.get(spec, path, null), object.get(names, [path], null))
	])
}

# A spec without its empty lists, if a rule says so; those inside of items of lists stay.
_filled(spec, merge_rules) := json.remove(spec, {path | walk(spec, [path, []]); count(path) > 0; _has_only_names(path)}) if {
	some rule in merge_rules
	rule.how == "filled"
} else := spec

_has_only_names(path) if {
	every segment in path {
		is_string(segment)
	}
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

# Sides merged in order, the lowest precedence first, see `_patch_sides`. Lists merged by key have the items of the
# highest precedence first (semantics F8). The result is a side.
merge_sides(sides) := _patch_sides(sides) if {
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
	merged := object.filter(_patch_sides(alike), ["spec", "origins"])
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

# A side with this spec in the form of results, `{spec, origins}`. Its lists are lists again, and its pointers have
# places. A result's spec has no tombstones, which stay in its origins (semantics F3).
plain_side(side, spec) := {"spec": spec, "origins": side.origins} if {
	object.filter(side, ["lists", "units"]) in _without_names
} else := {"spec": plain_spec, "origins": {leaves.pointer(_path_in(leaves.segments(pointer), names)): origin |
	some pointer, origin in side.origins
}} if {
	names := {leaves.segments(pointer): {name: sprintf("%d", [place]) | some place, name in order} | some pointer, order in side.lists}
	plain_spec := json.patch(spec, [{"op": "replace", "path": _path_in(segments, names), "value": value} |
		some [_, pointer] in sort([[count(leaves.segments(pointer)), pointer] | some pointer in (object.keys(side.lists) | side.units)])
		segments := leaves.segments(pointer)
		value := _plain_value(object.get(spec, segments, null), object.get(side.lists, pointer, null))
	])
}

# The names of a side without lists that merge by key, and without units.
_without_names := {{}, {"lists": {}}, {"units": set()}, {"lists": {}, "units": set()}}

# Another value may have replaced the list or the unit.
_plain_value(items, order) := [items[name] | some name in order] if is_object(items)
_plain_value(unit, null) := unit[0] if is_array(unit)

# GEP-713, "Custom merge strategies" (semantics F9): the rule `result` of the package bridge.strategies.<strategy>
# merges a pair of sides. Its input is `{established, challenger, policyKind}`, each side `{spec, policies, origins}`,
# with the nulls that still remove fields; it returns `{spec, origins?}`. An invalid result is an error for the path,
# `{error}`.
custom_merge(strategy, policy_kind, established, challenger) := {"error": {"code": "CustomStrategy", "message": message}} if {
	problem := _problem(_results(strategy, policy_kind, established, challenger), _makers(established) | _makers(challenger))
	message := sprintf("data.bridge.strategies.%s.result %s", [strategy, problem])
} else := {"spec": result.spec, "origins": {pointer: _result_origin(pointer, result, [challenger, established]) |
	some pointer in leaves.pointers(result.spec)
}} if {
	[result] := _results(strategy, policy_kind, established, challenger)
}

# The result of the rule, as a list of one; empty if it is undefined.
_results(strategy, policy_kind, established, challenger) := [result |
	strategy_input := {"established": _strategy_side(established), "challenger": _strategy_side(challenger), "policyKind": policy_kind}
	result := data.bridge.strategies[strategy].result with input as strategy_input
]

_strategy_side(side) := {"spec": side.spec, "origins": side.origins, "policies": sort(_makers(side))}

_makers(side) := {policy | some origin in side.origins; some policy in as_list(origin)}

_problem([], _) := "is undefined for this pair, or the package does not exist"

_problem([result], makers) := "is not an object {spec, origins}" if {
	not is_object(result)
} else := "has a spec that is not an object" if {
	not is_object(object.get(result, "spec", null))
} else := "has origins that are not an object" if {
	not is_object(object.get(result, "origins", {}))
} else := sprintf("has an origin at %q, where its spec has no value", [pointer]) if {
	pointer := sort(object.keys(result.origins) - leaves.pointers(result.spec))[0]
} else := sprintf("has an origin at %q that is not a policy of either side", [pointer]) if {
	pointer := sort({pointer | some pointer, origin in result.origins; not _is_origin(origin, makers)})[0]
}

_is_origin(origin, makers) if {
	as_list(origin) != []
	every policy in as_list(origin) {
		policy in makers
	}
}

# The policies of a leaf: those in the result, otherwise of the side that has an equal value there, the challenger
# first, otherwise of all that have leaves at, above or below the pointer, otherwise of both sides.
_result_origin(pointer, result, sides) := _one_or_all({policy | some policy in as_list(result.origins[pointer])}) if {
	result.origins[pointer]
} else := [side.origins[pointer] |
	some side in sides
	segments := leaves.segments(pointer)
	object.get(side.spec, segments, null) == object.get(result.spec, segments, null)
][0] if {
	true
} else := _one_or_all({policy | some side in sides; some policy in _makers_near(pointer, side)})

_makers_near(pointer, side) := near if {
	near := {policy |
		some place, origin in side.origins
		_is_near(concat("", [place, "/"]), concat("", [pointer, "/"]))
		some policy in as_list(origin)
	}
	count(near) > 0
} else := _makers(side)

_is_near(one, other) if startswith(one, other)
_is_near(one, other) if startswith(other, one)

_one_or_all(policies) := sort(policies)[0] if count(policies) == 1
_one_or_all(policies) := sort(policies) if count(policies) != 1

# The policies of an origin, which may be several (semantics F9).
as_list(origin) := [origin] if is_string(origin)
as_list(origin) := origin if is_array(origin)
