package bridge.hierarchy

import data.bridge.kinds
import data.bridge.lookup

# METADATA
# description: |
#   The paths among these that count for a policy kind: if the kind names `controllers`, those that are not below a
#   GatewayClass of another controller. A missing class has no other controller (semantics P8).
counted_paths(policy_kind, all_paths) := all_paths if {
	not kinds.get(policy_kind).controllers
} else := {path | some path in all_paths; not other_controller(policy_kind, path)}

# METADATA
# description: |
#   The GatewayClass of another controller at the root of a path; undefined if a policy kind counts on the path.
other_controller(policy_kind, path) := path[0] if {
	startswith(path[0], "gateway.networking.k8s.io/GatewayClass/")
	names := kinds.get(policy_kind).controllers
	not lookup.get(path[0]).spec.controllerName in names
}

# METADATA
# description: |
#   The GatewayClass that excludes a policy kind from one of its `all_kind_paths`. For a Direct kind, whose path is its
#   target only, the first one above the target, if no path to the target counts.
kept_off_by(policy_kind, path) := other_controller(policy_kind, path) if {
	not kinds.is_direct(policy_kind)
} else := sort({other_controller(policy_kind, whole) | some whole in paths(node, false)})[0] if {
	node := path[count(path) - 1]
	count(counted_paths(policy_kind, paths(node, false))) == 0
}
