package bridge.effective

import data.bridge.lib.leaves

# METADATA
# description: Why it is not known what is in effect. Undefined if it is.
unknown_because(effect) := effect.error.message

unknown_because(effect) := concat("; ", effect.incomplete)

# METADATA
# description: |
#   What is in effect has a value at a field (a JSON pointer) or below it; any, if the field is "". Where every policy
#   applies, one of them has it.
has_field(effect, "") if effect.spec

has_field(effect, field) if {
	some pointer, _ in effect.origins
	startswith(concat("", [pointer, "/"]), concat("", [field, "/"]))
}

has_field(effect, field) if {
	is_array(effect.spec)
	some policy_spec in effect.spec
	object.get(policy_spec, segments(field), null) != null
}

# METADATA
# description: The segments of a JSON pointer, which may lack its first slash.
segments(pointer) := split(trim_prefix(pointer, "/"), "/") if {
	not contains(pointer, "~")
} else := leaves.segments(concat("", ["/", trim_prefix(pointer, "/")]))
