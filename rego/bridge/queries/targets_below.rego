package bridge.queries

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.scopes

# The effective targets of Direct kinds below the target of the query, with the kind. At ports that requests use, policies
# for the whole backend act too (semantics C2).
direct_scopes_below := sort({[node, kind] |
	some node, object_key in _below
	some policy in attachment.permitted_policies_targeting(object_key)
	kind := keys.type_of(policy)
	kind in policy_kinds
	kinds.is_direct(kind)
	scopes.acts_at(kind, node)
	scopes.is_counted(kind, node, object.keys(_below))
})

# The nodes below the target, other than its own sections, with their objects.
_below := {node: keys.object_of(node) | some rule in _rules; some node in hierarchy.backends_reached(rule)} if {
	levels.of(_target) in {"Route", "Rule"}
} else := {node: object_key |
	input.policyKind
	some node in hierarchy.reach("below", {_target}, 3)
	object_key := keys.object_of(node)
	object_key != keys.object_of(_target)
}

_rules := {_target} if {
	levels.of(_target) == "Rule"
} else := hierarchy.accepted_sections(_target)

_target := hierarchy.canonical_key(input.target)
