package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The sources for which statuses count: "", and each namespace with a difference at an effective target, because of a
#   consumer route or a consumer's policy on one of its paths (semantics P6).
sources(policy_kind, node) := [""] if {
	is_same_for_all(policy_kind, node)
} else := array.concat([""], sort(_consumers(policy_kind, node))) if {
	_by_source(policy_kind, node)
} else := [""]

_by_source(policy_kind, node) if {
	kinds.is_consumer_kind(policy_kind)
} else := has_frontends(policy_kind, node)

_consumers(policy_kind, node) := {namespace |
	some path in hierarchy.kind_paths(policy_kind, node)
	some namespace in hierarchy.consumers(path)
} | {namespace |
	kinds.is_consumer_kind(policy_kind)
	some path in hierarchy.kind_paths(policy_kind, node)
	some entry in stack(policy_kind, path)
	not counts_for(policy_kind, entry, "")
	namespace := keys.parse(entry.policy).namespace
}

# METADATA
# description: |
#   The sources for which effective policies may differ at a target: `sources`, and each namespace for which a path does
#   not count because its consumer route replaces the producer's (semantics P6).
differing_sources(policy_kind, node) := [""] if {
	is_same_for_all(policy_kind, node)
} else := array.concat([""], sort(found)) if {
	found := {source | some source in sources(policy_kind, node); source != ""} | {namespace |
		some path in hierarchy.kind_paths(policy_kind, node)
		some namespace in hierarchy.replacing_consumers(path)
	}
}

# METADATA
# description: |
#   The `[path, stack]` pairs that count for a source only; for "" all pairs. Pairs that are the same for two sources
#   are counted once.
distinct_stacks(policy_kind, node, source) := stacks(policy_kind, node, source) if {
	source == ""
} else := [counted |
	some counted in stacks(policy_kind, node, source)
	not counted in stacks(policy_kind, node, "")
]
