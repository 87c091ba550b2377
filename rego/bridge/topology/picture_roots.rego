package bridge.topology

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   The first objects of a picture, from the top down, in parts of one level: objects with `alone`, objects that
#   extension modules place, and targets of policies. Edges connect all others.
picture_roots := array.concat(
	[sort(_of_level(name)) | some name in ["GatewayClass", "Gateway", "ListenerSet", "Route"]],
	[sort(_of_further_levels | _targets)],
)

_of_level(name) := {key | some type, at in levels.by_type; at.object == name; some key in lookup.keys_of(type)}

_of_further_levels := {key |
	some type, at in levels.by_type
	not at.object in {"GatewayClass", "Gateway", "ListenerSet", "Route", "Backend", "Namespace"}
	some key in lookup.keys_of(type)
}

_targets := index.targeted_objects | {ref.object |
	some policy_kind in kinds.in_use
	policies.may_select(policy_kind)
	some policy in lookup.keys_of(policy_kind)
	some ref in policies.declared_refs(policy)
}
