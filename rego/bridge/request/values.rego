package bridge.request

# METADATA
# description: |
#   What a match says of headers or query parameters that the request (name > value) does not have, `[part, message]`.
value_misses(part, wanted, given) := {[part, message] |
	some one in wanted
	message := _value_miss(part, one, object.get(given, one.name, null))
}

_value_miss(part, one, null) := sprintf("%s %s is missing", [part, one.name])

_value_miss(part, one, value) := sprintf("%s %s is %s, not %s", [part, one.name, value, one.value]) if {
	value != null
	object.get(one, "type", "Exact") == "Exact"
	value != one.value
}

_value_miss(part, one, value) := sprintf("%s %s is %s, which does not match %s", [part, one.name, value, one.value]) if {
	value != null
	one.type == "RegularExpression"
	not _wholly(one.value, value)
}

# Of several with one name the first counts; names of headers have no letter case (HTTPHeaderMatch, HTTPQueryParamMatch).
_distinct(list, fold) := [object.union(one, {"name": _named(one, fold)}) |
	some index, one in list
	not _named(one, fold) in {_named(earlier, fold) | some earlier in array.slice(list, 0, index)}
]

_named(one, true) := lower(one.name)

_named(one, false) := one.name

# Which dialect a regular expression is of is the implementation's to say; here it is RE2's, and means the whole text.
_wholly(pattern, text) if regex.match(sprintf("^(?:%s)$", [pattern]), text)
