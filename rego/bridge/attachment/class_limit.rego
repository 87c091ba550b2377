package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds

# METADATA
# description: |
#   The policies of a kind that are attached to a node only by refs with a className, with these classes. Such an
#   attachment counts only on paths through a GatewayClass of that name (the first version of GEP-713,
#   PolicyTargetReference; semantics T1).
limits(policy_kind, node) := {policy: classes |
	some [policy, class_ref] in refs_to(policy_kind, node)
	class_ref.class
	accepted := [ref |
		some [other, ref] in refs_to(policy_kind, node)
		other == policy
		verdict(policy, ref).reason == "Accepted"
	]
	every ref in accepted {
		ref.class
	}
	classes := {ref.class | some ref in accepted}
}

# METADATA
# description: Some policy of a kind has a ref with a className.
has_class_limits(policy_kind) if {
	policy_kind in index.class_limited_kinds
} else := false

# METADATA
# description: A path of a policy kind runs through one of these classes. A Direct kind's paths are those of its target.
runs_through(policy_kind, path, classes) if {
	not kinds.is_direct(policy_kind)
	count(hierarchy.classes(path) & classes) > 0
}

runs_through(policy_kind, path, classes) if {
	kinds.is_direct(policy_kind)
	some whole in hierarchy.paths(path[count(path) - 1], false)
	count(hierarchy.classes(whole) & classes) > 0
}
