package bridge.index

# METADATA
# description: The name of a part of an object where it can be a section name, else the fallback.
section_name(part, fallback) := part.name if {
	regex.match(`^[^#@/\[\]]+$`, part.name)
} else := fallback

# METADATA
# description: The listeners of a spec that have a section name; of two with one name the first (the API refuses such an object).
named_listeners(listeners) := named if {
	named := [listener | some listener in listeners; section_name(listener, "") == listener.name]
	count({listener.name | some listener in named}) == count(named)
} else := [listener |
	some place, listener in listeners
	section_name(listener, "") == listener.name
	not listener.name in {earlier.name | some earlier in array.slice(listeners, 0, place)}
]

# METADATA
# description: |
#   The section names of rules, in their order, each its name or, where it has none, its place as `[n]` (semantics K3). Of two
#   rules with one name, which the API refuses, the second has none.
rule_names(rules) := names if {
	names := _written_names(rules)
	count({name | some name in names}) == count(names)
} else := [name |
	names := _written_names(rules)
	some place, written in names
	name := _unless_earlier(written, array.slice(names, 0, place), place)
]

_written_names(rules) := [section_name(rule, sprintf("[%d]", [place])) | some place, rule in rules]

_unless_earlier(name, earlier, place) := sprintf("[%d]", [place]) if {
	name in earlier
} else := name
