package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The policies of a kind on a path, the established ones first: by level, higher first; then by age, older first;
#   then by namespace/name (GEP-713, "Established and challenger policy specs"; semantics F1). A policy that is
#   attached at two places of the path stands here twice (semantics P4). Each entry is `{policy, target}`.
stack(policy_kind, path) := counting if {
	counting := _counting(policy_kind, path)
	not kinds.acts_where_declared(policy_kind)
} else := counting if {
	# No effective target but where a policy of its own counts (semantics C1).
	counting := _counting(policy_kind, path)
	some entry in counting
	entry.target == path[count(path) - 1]
} else := []

_counting(policy_kind, path) := all_attached if {
	all_attached := [entry | some node in path; some entry in _at_level(policy_kind, node)]
	count([1 | some entry in all_attached; entry.classes]) == 0
} else := [object.remove(entry, ["classes"]) |
	some node in path
	some entry in _at_level(policy_kind, node)
	_counts(policy_kind, path, entry)
]

# The policies at one node, the older first, with the `classes` that it is limited to there. The same for all paths through it.
_at_level(policy_kind, node) := [object.union({"policy": policy, "target": node}, limit) |
	limits := attachment.limits(policy_kind, node)
	some [_, _, policy] in sort({[lookup.age(policy), keys.alphabetical(policy), policy] |
		some policy in attachment.attached(policy_kind, node)
	})
	limit := {"classes": classes | classes := limits[policy]}
]

_counts(_, _, entry) if not entry.classes

_counts(policy_kind, path, entry) if attachment.runs_through(policy_kind, path, entry.classes)

# METADATA
# description: |
#   The paths to an effective target as a policy kind sees them: through the hierarchy for an Inherited kind, the
#   target alone, below its object, for a Direct one (semantics C2, P3).
paths(policy_kind, node) := {[node]} if {
	kinds.direct(policy_kind)
	not contains(node, "#")
} else := {[keys.parse(node).object, node]} if {
	kinds.direct(policy_kind)
} else := hierarchy.paths(node, kinds.names_namespaces(policy_kind))
