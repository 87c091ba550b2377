package bridge.request

# METADATA
# description: |
#   What a match says of headers or query parameters that the request (name > value) does not have, `[part, message]`, without
#   the patterns among them.
value_misses(part, wanted, given) := {[part, message] |
	some one in wanted
	message := _value_miss(part, one, object.get(given, one.name, null))
}

# METADATA
# description: |
#   The patterns among what a match says of headers or query parameters that the request has, each as `{part, pattern, text,
#   says}`: `says` is what a message says before the pattern.
value_patterns(part, wanted, given) := {{
	"part": part,
	"pattern": one.value,
	"text": given[one.name],
	"says": sprintf("%s %s is %s, which", [part, one.name, given[one.name]]),
} |
	some one in wanted
	one.type == "RegularExpression"
	given[one.name]
}

_value_miss(part, one, null) := sprintf("%s %s is missing", [part, one.name])

_value_miss(part, one, value) := sprintf("%s %s is %s, not %s", [part, one.name, value, one.value]) if {
	value != null
	object.get(one, "type", "Exact") == "Exact"
	value != one.value
}

# METADATA
# description: Of several with one name the first counts; names of headers have no letter case (HTTPHeaderMatch, HTTPQueryParamMatch).
distinct(list, fold) := [object.union(one, {"name": _named(one, fold)}) |
	some index, one in list
	not _named(one, fold) in {_named(earlier, fold) | some earlier in array.slice(list, 0, index)}
]

_named(one, true) := lower(one.name)

_named(one, false) := one.name
