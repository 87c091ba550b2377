# METADATA
# title: Topology
# description: The hierarchy as people look at it, from the top down, with the policies at each node.
package bridge.topology

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   A node as the tree tells it: `{level, children, policies}`, with `namespace` for one above which a Namespace with
#   policies stands (semantics P3), and `parameters` (see `parameters`). `policies` name or select the node,
#   `{policy, policyKind, accepted, reason?}`.
node(key, policy_kinds) := object.union_n([
	{"level": level, "children": _children(level, key), "policies": policies_at(key, policy_kinds)},
	{"namespace": namespace | namespace := _namespace(key, policy_kinds)},
	{"parameters": named | named := parameters_at(level, key)},
]) if {
	level := levels.of(key)
}

_children("Namespace", key) := sort(hierarchy.members(keys.parse(key).name))

_children(level, key) := sort(hierarchy.children(key)) if level != "Namespace"

_namespace(key, policy_kinds) := namespace if {
	not contains(key, "#")
	name := split(key, "/")[2]
	name != "-"
	namespace := keys.format("", "Namespace", "", name)
	count(policies_at(namespace, policy_kinds)) > 0
}

# METADATA
# description: The policies that name or select a node.
policies_at(key, policy_kinds) := sort({entry |
	some policy in attachment.policies_targeting(keys.object_of(key))
	policy_kind := keys.parse(policy).type
	policy_kind in policy_kinds
	some ref in policies.declared_refs(policy)
	attachment.place(policy_kind, ref.key) == key
	entry := object.union({"policy": policy, "policyKind": policy_kind}, _counts(policy, ref))
} | _undescribed_at(key))

# Policies that no policy kind describes are shown where they name something, unless one kind is asked for (semantics K6).
_undescribed_at(key) := {entry |
	some policy in index.policies_targeting(keys.object_of(key))
	obj := lookup.get(policy)
	kinds.is_undescribed(policy, obj)
	some ref in index.target_refs(obj)
	ref.key == key
	entry := {"policy": policy, "policyKind": keys.parse(policy).type, "accepted": false, "reason": "NotDescribed"}
} if {
	not input.policyKind
} else := set()

_counts(policy, ref) := {"accepted": true} if {
	not lookup.get(policy).metadata.deletionTimestamp
	attachment.verdict(policy, ref).reason == "Accepted"
} else := {"accepted": false, "reason": "Deleting"} if {
	lookup.get(policy).metadata.deletionTimestamp
} else := {"accepted": false, "reason": attachment.verdict(policy, ref).reason}

# METADATA
# description: |
#   Where the whole picture starts: the objects and frontends above which nothing stands that counts, and below which, or
#   at which, is something. An object that no policy and no link names is no part of it.
roots(policy_kinds) := {key |
	some key in _placed_nodes
	count(hierarchy.parents(key)) == 0
	_is_root(key, policy_kinds)
}

_placed_nodes contains key if {
	some type, at in levels.by_type
	not at.object == "Namespace"
	some object_key in lookup.keys_of(type)
	some key in {object_key, keys.frontend(object_key)}
	is_placed(key)
}

# Routes may have parents of kinds without a level, as a ServiceImport.
_placed_nodes contains node if {
	some node in index.frontends
	hierarchy.exists(trim_suffix(node, "@frontend"))
	is_placed(node)
}

# What policies name without being of a type of the hierarchy stands there too.
_placed_nodes contains key if {
	some policy_kind in kinds.in_use
	some policy in lookup.keys_of(policy_kind)
	some target in attachment.targets(policy)
	levels.of(target) != "Namespace"
	key := keys.parse(target).object
}

# METADATA
# description: An object has a place in the picture; a frontend has one where a route leads to it.
is_placed(key) if not keys.is_frontend(key)

is_placed(key) if {
	keys.is_frontend(key)
	count(index.declared_children(key)) > 0
}

_is_root(key, _) if levels.of(key) in {"GatewayClass", "Gateway", "Route", "ListenerSet"}

_is_root(key, _) if count(hierarchy.children(key) - hierarchy.sections(key)) > 0

_is_root(key, policy_kinds) if {
	some at in ({key} | hierarchy.sections(key))
	count(policies_at(at, policy_kinds)) > 0
}

_is_root(key, policy_kinds) if _namespace(key, policy_kinds)
