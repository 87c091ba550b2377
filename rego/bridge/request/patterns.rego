package bridge.request

# Compiling a regular expression takes memory that its length does not show: `[a-k1]{1000}` has a thousand classes.
# Tenants write routes, so patterns are estimated by their text, and only those within the bounds are compiled.

# METADATA
# description: |
#   The maximum length of a pattern in characters, and its maximum weight; one unit is about 70 bytes of OPA's memory.
pattern_bounds := {"length": 1024, "weight": 2000}

# METADATA
# description: The maximum weight of all patterns that one query compiles.
query_bound := 200000

# METADATA
# description: |
#   The approximate number of instructions of a regular expression, by its text only: its characters, each repeated part
#   times its maximum repetition, all of it times the repetition of groups, and more for classes, especially Unicode
#   classes, which are long tables.
pattern_weight(pattern) := ((count(pattern) + repeated) * groups) * _table_factor(pattern) if {
	repeated := sum([weight |
		some [_, atom, least, _, most] in regex.find_all_string_submatch_n(_repeated_atom, pattern, -1)
		weight := (1 + floor(count(atom) / 4)) * _most(least, most) # a class of many ranges is longer
	])
	groups := product([_most(least, most) |
		some [_, least, _, most] in regex.find_all_string_submatch_n(_repeated_group, pattern, -1)
	])
}

_repetition := `\{([0-9]+)(,([0-9]*))?\}`

# A class, an escape or a character before a repetition.
_repeated_atom := concat("", [`(\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\[pPx]\{[^}]*\}|\\[pP].|\\.|[^)])`, _repetition])

_repeated_group := concat("", [`\)`, _repetition])

# Two at least, because an optional part costs one more instruction. RE2 repeats at most 1,000 times.
_most(least, most) := max([2, min([to_number(least), 1001]), min([to_number(more), 1001])]) if {
	more := [text | some text in [most, "0"]; text != ""][0]
}

_table_factor(pattern) := 20 if {
	regex.match(`\\[pP]`, pattern)
} else := 2 if {
	regex.match(`\(\?[a-zA-Z]*i`, pattern)
} else := 1

# METADATA
# description: A pattern is never compiled, even if there are no others.
is_too_heavy(pattern) if {
	count(pattern) > pattern_bounds.length
} else if {
	pattern_weight(pattern) > pattern_bounds.weight
} else := false

# METADATA
# description: The message for a pattern that is too heavy to compile.
heavy_message(one) := sprintf("%s is not compared with %s: the pattern has %d characters, at most %d are compiled", [
	one.part, shorten(one.pattern), count(one.pattern), pattern_bounds.length,
]) if {
	count(one.pattern) > pattern_bounds.length
} else := sprintf("%s is not compared with %s: the pattern weighs %d, at most %d is compiled", [
	one.part, shorten(one.pattern), pattern_weight(one.pattern), pattern_bounds.weight,
])

# METADATA
# description: A pattern in the form for messages.
shorten(pattern) := pattern if {
	count(pattern) <= 80
} else := concat("", [substring(pattern, 0, 80), "…"])

# METADATA
# description: |
#   Of routes with the patterns to compile for each (`{route: {patterns}}`), those whose patterns are too many. Routes
#   with the lowest weight are kept, so one route cannot use the bound of all others.
overweight_routes(patterns_by_route) := set() if {
	sum([weight | some weight in _weights(patterns_by_route)]) <= query_bound
} else := {route | some route, weight in _weights(patterns_by_route); weight > _limit(_weights(patterns_by_route))}

_weights(patterns_by_route) := {route: weight |
	some route, patterns in patterns_by_route
	weight := sum([pattern_weight(pattern) | some pattern in patterns; not is_too_heavy(pattern)])
}

_limit(weights) := max({0} | {limit |
	some exponent in numbers.range(0, 17)
	limit := bits.lsh(1, exponent)
	sum([weight | some weight in weights; weight <= limit]) <= query_bound
})

# METADATA
# description: |
#   A regular expression matches a whole text. Gateway API leaves its dialect to implementations; the bridge uses RE2.
matches_whole(pattern, text) if regex.match(sprintf("^(?:%s)$", [pattern]), text)
