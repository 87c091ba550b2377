package bridge.index

# METADATA
# description: The name of a part of an object if it can be a section name, otherwise the fallback.
section_name(part, fallback) := part.name if {
	regex.match(`^[^#@/\[\]]+$`, part.name)
} else := fallback

# METADATA
# description: |
#   The listeners of a spec that have a section name; of two with the same name the first (the API rejects such an
#   object).
named_listeners(listeners) := listeners_with_names if {
	listeners_with_names := [listener | some listener in listeners; section_name(listener, "") == listener.name]
	count({listener.name | some listener in listeners_with_names}) == count(listeners_with_names)
} else := [listener |
	some place, listener in listeners
	section_name(listener, "") == listener.name
	not listener.name in {earlier.name | some earlier in array.slice(listeners, 0, place)}
]

# METADATA
# description: |
#   The section names of rules, in their order, each its name or, without a name, its place as `[n]` (semantics K3). Of
#   two rules with the same name, which the API rejects, the second has none.
rule_names(rules) := _rule_names(count(rules), {place: rule.name | some place, rule in rules}) if {
	is_array(rules)
} else := []

# Most routes name no rule, so many share their section names.
_rule_names(number, {}) := [sprintf("[%d]", [place]) | some place in numbers.range(0, number - 1)] if {
	number > 0
}

_rule_names(0, {}) := []

_rule_names(number, names_by_place) := [name |
	proposed := [section_name({"name": object.get(names_by_place, place, "")}, sprintf("[%d]", [place])) | some place in numbers.range(0, number - 1)]
	some place, own in proposed
	name := _unless_earlier(own, array.slice(proposed, 0, place), place)
] if {
	names_by_place != {}
}

_unless_earlier(name, earlier, place) := sprintf("[%d]", [place]) if {
	name in earlier
} else := name
