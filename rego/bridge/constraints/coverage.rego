package bridge.constraints

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.scopes

_has_targets(_, type) if levels.by_type[type]
_has_targets(kind, type) if kinds.may_target(kind, type)

# METADATA
# description: Every effective target of a policy kind, with or without a policy.
targets_of(kind) := {node |
	some type in lookup.types
	_has_targets(kind, type)
	some key in lookup.keys_of(type)
	some node in ({key} | hierarchy.sections(key))
	scopes.acts_at(kind, node)
}

# METADATA
# description: |
#   The paths to an effective target, for requests from a namespace (`source`, "" for any), on which no policy of a kind is
#   in effect or, with a `field` that is not "", none has a value there: `{path, exemptions, unknown?, notAttached?,
#   otherController?}`. `unknown` says why it cannot be computed, `notAttached` why nothing accepts the route of the path,
#   `otherController` which controller other than the kind's serves it; `exemptions` are those of Constraints that require
#   such a policy. A request can take each of these paths, so `required_policy` judges them too.
uncovered_paths(kind, field, node, source) := [object.union_n([
	{"path": path, "exemptions": exempting},
	{"unknown": why | why := effective.unknown_because(effect)},
	{"notAttached": why | why := hierarchy.not_attached(path)},
	{"otherController": controller | controller := hierarchy.other_controller(kind, path)},
]) |
	effects := {entry.path: entry | some entry in effective.policies_of(kind, node, source)}
	exempting := sort(exemptions_of_requirement(kind, field, node))
	some path in sort(hierarchy.all_kind_paths(kind, node))
	hierarchy.counts_for(path, source)
	effect := object.get(effects, [path], {})
	not _is_certain(effect, field)
]

_is_certain(effect, field) if {
	effective.has_value(effect, field)
	not effect.incomplete
}
