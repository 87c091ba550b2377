package bridge.policy

import data.bridge.kinds
import data.bridge.lib.levels

# METADATA
# description: |
#   The hint of a message about a target with a wrong group: the group of the ref, and the group of that kind among the policy
#   kind's targets, or in the hierarchy if it lists none. Empty if the group is right, or if no group has the kind.
group_hint(policy_kind, type) := sprintf(" (its group is %q; did you mean %q?)", [_written(group), _written(known[0])]) if {
	[group, kind] := split(type, "/")
	known := _groups_of(policy_kind, kind)
	count(known) > 0
	not group in known
} else := ""

_groups_of(policy_kind, kind) := sort({entry.group | some entry in targets; entry.kind == kind}) if {
	targets := kinds.get(policy_kind).targets
} else := sort({split(type, "/")[0] | some type, _ in levels.by_type; split(type, "/")[1] == kind})

# As in a ref: the core group is empty.
_written("core") := ""

_written(group) := group if group != "core"
