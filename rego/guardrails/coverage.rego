# METADATA
# title: Coverage
# description: |
#   The effective targets at which nothing of a policy kind is in effect, and what a field of an effective policy is. Every
#   bundle has this package.
package bridge.coverage

import data.bridge.effective as engine
import data.bridge.exemptions
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.scopes

# METADATA
# description: Every effective target of a policy kind, with or without a policy.
targets_of(kind) := {node |
	some type in lookup.types
	true in {levels.by_type[type] != "", kinds.may_target(kind, type)}
	some key in lookup.keys_of(type)
	some node in ({key} | hierarchy.sections(key))
	scopes.acts_at(kind, node)
}

# METADATA
# description: |
#   The paths to an effective target, for requests from a namespace (`source`, "" for any), on which no policy of a kind is
#   in effect or, with a `field` that is not "", none has a value there: `{path, exemptions, unknown?}`. `unknown` says
#   why it cannot be computed; `exemptions` are those of Constraints that require such a policy.
uncovered_paths(kind, field, node, source) := [object.union({"path": path, "exemptions": exempting}, unknown) |
	effects := {entry.path: entry | some entry in engine.policies_of(kind, node, source)}
	exempting := sort(exemptions.of_requirement(kind, field, node))
	some path in sort(hierarchy.kind_paths(kind, node))
	hierarchy.counts_for(path, source)
	effect := object.get(effects, [path], {})
	not _is_certain(effect, field)
	unknown := {"unknown": why | why := unknown_because(effect)}
]

_is_certain(effect, field) if {
	has_field(effect, field)
	not effect.incomplete
}

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
