package bridge.hierarchy

import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The paths to an effective target as a policy kind sees them: through the hierarchy for an Inherited kind, the
#   target alone, below its object, for a Direct one (semantics C2, P3).
kind_paths(policy_kind, node) := {[node]} if {
	kinds.direct(policy_kind)
	not contains(node, "#")
} else := {[keys.parse(node).object, node]} if {
	kinds.direct(policy_kind)
} else := paths(node, kinds.names_namespaces(policy_kind))
