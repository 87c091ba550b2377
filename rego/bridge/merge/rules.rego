package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   A PolicyKind's `merge` as a list of rules `{segments, how, field}`, where `how` is unit or key; of several that match
#   one pointer the first counts, so a unit is always a unit (semantics F8). Stored in `data.kinds`.
rules(settings) := array.concat(
	[{"segments": leaves.segments(pointer), "how": "unit", "field": ""} | some pointer in object.get(settings, "units", [])],
	[{"segments": leaves.segments(pointer), "how": "key", "field": field} |
		some pointer, field in object.get(settings, "listKeys", {})
	],
)

# METADATA
# description: |
#   The values of a spec that rules treat differently from RFC 7386, by path. Items of a list merged by key are
#   traversed, units are not.
rules_by_path(spec, merge_rules) := {path: rule |
	some path, rule in candidates
	every index, segment in path {
		_is_entered(object.get(candidates, [array.slice(path, 0, index)], {}), segment)
	}
} if {
	candidates := {path: rule |
		walk(spec, [path, value])
		_is_container(value)
		rule := [rule | some rule in merge_rules; _matches(rule.segments, path)][0]
		_fits(rule, value)
	}
}

_is_container(value) if is_object(value)

_is_container(value) if is_array(value)

# `*` is any one key, or any item of a list.
_matches(segments, path) if {
	count(segments) == count(path)
	every index, segment in segments {
		segment in {"*", path[index]}
	}
}

_is_entered(rule, segment) if {
	is_number(segment)
	rule.how == "key"
}

_is_entered(rule, segment) if {
	not is_number(segment)
	object.get(rule, "how", "") != "unit"
}

_fits(rule, _) if rule.how == "unit"

_fits(rule, value) if {
	rule.how == "key"
	rule.field == "" # items without names
	is_array(value)
}

# A list whose items lack the key, repeat one, or are not objects, is a leaf like any other.
_fits(rule, value) if {
	rule.how == "key"
	is_array(value)
	every item in value {
		is_object(item)
		_is_key(object.get(item, rule.field, null))
	}
	count({item[rule.field] | some item in value}) == count(value)
}

_is_key(value) if is_string(value)

_is_key(value) if is_number(value)

_is_key(value) if is_boolean(value)
