package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds

# METADATA
# description: |
#   The result of `policies_of` for only these paths to an effective target. A request takes one path, while a Service
#   may have thousands of routes.
policies_on(policy_kind, paths_to_node, source) := [entry |
	some path in hierarchy.counted_paths(policy_kind, paths_to_node)
	hierarchy.counts_for(path, source)
	attached := [placed | some placed in stack(policy_kind, path); _counts_on(policy_kind, placed, source)]
	count(attached) > 0
	acts_at_end(policy_kind, path, attached)
	entry := entry_of(path, attached)
]

_counts_on(policy_kind, _, _) if not kinds.is_consumer_kind(policy_kind)

_counts_on(policy_kind, placed, source) if {
	kinds.is_consumer_kind(policy_kind)
	counts_for(policy_kind, placed, source)
}
