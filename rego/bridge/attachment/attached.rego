package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: The policies of a kind (`<group>/<Kind>`) that are attached to a node by an accepted ref.
attached_policies(policy_kind, node) := {policy |
	some policy in index.policies_naming(policy_kind, node)
	_accepted_at(policy, node)
} if {
	not startswith(node, "core/Service/")
	not policies.may_select(policy_kind)
	not contains(node, "@")
	not kinds.frontend_role(policy_kind, keys.type_of(node))
} else := {policy |
	some [policy, ref] in refs_to(policy_kind, node)
	verdict(policy, ref).reason == "Accepted"
}

_accepted_at(policy, node) if {
	policies.fact(policy, "near")[node]
} else if {
	takes_part(policy)
	is_permitted(policy, keys.object_of(node))
	some ref in policies.fact(policy, "refs")
	ref.key == node
	verdict(policy, ref).reason == "Accepted"
}

# METADATA
# description: |
#   The refs of a kind's policies to a node, whatever their verdicts, as [policy, ref]. A policy that both names and
#   selects an object refers to it once.
refs_to(policy_kind, node) := {[policy, ref] |
	some policy in _naming_node(policy_kind, node)
	takes_part(policy)
	some ref in policies.named_refs(policy)
	place(policy_kind, ref.key) == node
} | {[policy, policies.selected_ref(policy, object_key)] |
	policies.may_select(policy_kind)
	not contains(node, "#")
	object_key := trim_suffix(node, "@frontend")
	some policy in policies_selecting(object_key)
	keys.parse(policy).type == policy_kind
	place(policy_kind, object_key) == node
	takes_part(policy)
}

# METADATA
# description: |
#   The node that a policy kind means by a key: the canonical one, or the frontend if the kind targets frontends
#   (semantics K4). Undefined if there is none.
place(policy_kind, key) := hierarchy.canonical_key(key) if {
	not contains(key, "@")
	not kinds.frontend_role(policy_kind, keys.parse(key).type)
} else := hierarchy.canonical_key(concat("", [trim_suffix(key, "@frontend"), "@frontend"])) if {
	kinds.frontend_role(policy_kind, keys.parse(key).type)
}

# METADATA
# description: |
#   The nodes that a policy is attached to by its accepted refs; none while it is being deleted (semantics T5).
targets(policy_key) := {place(keys.parse(policy_key).type, ref.key) |
	takes_part(policy_key)
	some ref in policies.declared_refs(policy_key)
	verdict(policy_key, ref).reason == "Accepted"
}

# METADATA
# description: A policy with a deletionTimestamp has no effect (semantics T5).
takes_part(policy_key) if not policies.fact(policy_key, "deleting")

_naming_node(policy_kind, node) := index.policies_naming(policy_kind, trim_suffix(node, "@frontend"))
