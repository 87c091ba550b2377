package bridge.effective

import data.bridge.kinds
import data.bridge.lib.levels

# METADATA
# description: |
#   What follows from a policy kind alone and is asked at each query. Kept in `data.kinds` as `traits`.
traits(policy_kind) := kinds.get(policy_kind).traits if {
	true
} else := made_traits(policy_kind)

# METADATA
# description: What `traits` tells, made anew.
made_traits(policy_kind) := {
	"plain": made_plain(policy_kind),
	"straight": _made_straight(policy_kind),
	"held": kinds.names_namespaces(policy_kind),
	"alone": _made_alone(policy_kind),
	"takes": _made_takes(policy_kind),
	"acts": _made_acts(policy_kind),
	"actsInside": {trim_suffix(text, "#") | some text in _made_acts(policy_kind); endswith(text, "#"); not startswith(text, "core/Service")},
}

_made_straight(policy_kind) if {
	not kinds.direct(policy_kind)
	not kinds.for_consumers(policy_kind)
	not kinds.acts_where_declared(policy_kind)
	not kinds.get(policy_kind).effectiveTarget in {"Backend", "Port"}
} else := false

_made_alone(policy_kind) if {
	not kinds.get(policy_kind).sameLevel in {"Conflict", "ConflictOnOverlap"}
} else := false

# By type, and by type and `#` for its sections: what a ref of the kind can name by the node's own key.
_made_takes(policy_kind) := {text |
	some target in kinds.get(policy_kind).targets
	type := concat("/", [target.group, target.kind])
	not kinds.frontend_role(policy_kind, type)
	some text in ({type | kinds.may_target(policy_kind, type)} | {concat("", [type, "#"]) | kinds.may_target_sections(policy_kind, type)})
}

# The same of the nodes that the kind acts at, each for itself.
_made_acts(policy_kind) := {text |
	not kinds.acts_at_targets(policy_kind)
	some type, at in levels.by_type
	kinds.acts_on(policy_kind, type)
	some text in ({type | at.object == kinds.get(policy_kind).effectiveTarget} | {concat("", [type, "#"]) | at.section == kinds.get(policy_kind).effectiveTarget})
}
