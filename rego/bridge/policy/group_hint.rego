package bridge.policy

import data.bridge.kinds
import data.bridge.lib.levels

# METADATA
# description: |
#   What a message adds about a target whose group is the mistake: the group that it has, and the one in which the policy kind's
#   targets or, where it lists none, the hierarchy has that kind. Empty where the group is right, or no group has the kind.
group_hint(policy_kind, type) := sprintf(" (its group is %q; did you mean %q?)", [_written(group), _written(known[0])]) if {
	[group, kind] := split(type, "/")
	known := _groups_of(policy_kind, kind)
	count(known) > 0
	not group in known
} else := ""

_groups_of(policy_kind, kind) := sort({entry.group | some entry in targets; entry.kind == kind}) if {
	targets := kinds.get(policy_kind).targets
} else := sort({split(type, "/")[0] | some type, _ in levels.by_type; split(type, "/")[1] == kind})

# As a ref writes it: the core group is empty.
_written("core") := ""

_written(group) := group if group != "core"
