package bridge.table

# Compiling a regular expression takes memory that its length does not show: `[a-k1]{1000}` has a thousand classes.
# Tenants write routes, so patterns are estimated by their text, and only those within the bounds are compiled.

# The maximum length of a pattern in characters, and its maximum weight; one unit is about 70 bytes of OPA's memory.
_pattern_bounds := {"length": 1024, "weight": 2000}

# The approximate number of instructions of a regular expression, by its text only: its characters, each repeated part
# times its maximum repetition, all of it times the repetition of groups, and more for classes, especially Unicode
# classes, which are long tables.
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

# Why a pattern is never compiled, even if there are no others.
excess(pattern) := sprintf("has %d characters, at most %d are compiled", [count(pattern), _pattern_bounds.length]) if {
	count(pattern) > _pattern_bounds.length
} else := sprintf("weighs %d, at most %d is compiled", [pattern_weight(pattern), _pattern_bounds.weight]) if {
	pattern_weight(pattern) > _pattern_bounds.weight
}

# Why a pattern of a condition is not compared with the request.
excess_message(one) := sprintf("%s is not compared with %s: the pattern %s", [one.part, shorten(one.expected), excess(one.expected)])

# A pattern in a message.
shorten(pattern) := pattern if {
	count(pattern) <= 80
} else := concat("", [substring(pattern, 0, 80), "…"])

# A regular expression matches a whole text. Gateway API leaves its dialect to implementations; the bridge uses RE2.
whole(pattern) := sprintf("^(?:%s)$", [pattern])
