package bridge.hierarchy

import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The paths to an effective target for a policy kind: through the hierarchy for an Inherited kind, only the target,
#   below its object, for a Direct one (semantics C2, P3). Paths below Gateways of controllers that the kind does not
#   name are omitted (P8).
kind_paths(policy_kind, node) := counted_paths(policy_kind, all_kind_paths(policy_kind, node)) if {
	not kinds.is_direct(policy_kind)
} else := all_kind_paths(policy_kind, node) if {
	not kinds.get(policy_kind).controllers
} else := {whole | some whole in all_kind_paths(policy_kind, node); count(counted_paths(policy_kind, paths(node, false))) > 0}

# METADATA
# description: As `kind_paths`, including the paths below Gateways of any controller.
all_kind_paths(policy_kind, node) := {[node]} if {
	kinds.is_direct(policy_kind)
	not contains(node, "#")
} else := {[keys.parse(node).object, node]} if {
	kinds.is_direct(policy_kind)
} else := paths(node, kinds.names_namespaces(policy_kind))
