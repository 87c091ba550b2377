package bridge.request

# METADATA
# description: |
#   The conditions of a match on headers or query parameters that the request (name > value) does not fulfill, `[part,
#   message]`, without patterns.
value_misses(part, conditions, values) := {[part, message] |
	some one in conditions
	message := _value_miss(part, one, object.get(values, one.name, null))
}

# METADATA
# description: |
#   The patterns among the conditions of a match on headers or query parameters of the request, each as `{part, pattern,
#   text, says}`: `says` is the text before the pattern in a message.
value_patterns(part, conditions, values) := {{
	"part": part,
	"pattern": one.value,
	"text": values[one.name],
	"says": sprintf("%s %s is %s, which", [part, one.name, values[one.name]]),
} |
	some one in conditions
	one.type == "RegularExpression"
	values[one.name]
}

_value_miss(part, one, null) := sprintf("%s %s is missing", [part, one.name])

_value_miss(part, one, value) := sprintf("%s %s is %s, not %s", [part, one.name, value, one.value]) if {
	value != null
	object.get(one, "type", "Exact") == "Exact"
	value != one.value
}

# METADATA
# description: |
#   Of several with one name the first counts; names of headers are not case-sensitive (HTTPHeaderMatch,
#   HTTPQueryParamMatch).
distinct_values(list, fold) := [object.union(one, {"name": _name_of(one, fold)}) |
	some index, one in list
	not _name_of(one, fold) in {_name_of(earlier, fold) | some earlier in array.slice(list, 0, index)}
]

_name_of(one, true) := lower(one.name)

_name_of(one, false) := one.name
