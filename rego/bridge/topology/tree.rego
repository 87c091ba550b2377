# METADATA
# title: Topology
# description: The hierarchy for people, from the top down, with the policies at each node.
package bridge.topology

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   A node of the tree: `{level, children, policies}`, with `namespace` if a Namespace with policies is above it
#   (semantics P3), and `parameters` (see `parameters`). `policies` name or select the node, `{policy, policyKind,
#   accepted, reason?}`.
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
	object_key := keys.object_of(key)
	some policy in attachment.policies_targeting(object_key)
	policy_kind := keys.parse(policy).type
	policy_kind in policy_kinds
	some ref in attachment.refs_on(policy, object_key)
	attachment.place(policy_kind, ref.key) == key
	entry := object.union({"policy": policy, "policyKind": policy_kind}, _counts(policy, ref))
} | _undescribed_at(key))

# Policies that no policy kind describes are shown at their targets, unless the query names one kind (semantics K6).
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
#   The roots of the whole tree: the objects and frontends without a parent that counts, and with a child or a policy.
#   Objects without policies and links are not part of the tree.
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

# Routes may have parents of kinds without a level, such as ServiceImport.
_placed_nodes contains node if {
	some node in index.frontends
	hierarchy.exists(trim_suffix(node, "@frontend"))
	is_placed(node)
}

# Targets of policies with types outside the hierarchy are nodes too.
_placed_nodes contains key if {
	some policy_kind in kinds.in_use
	some policy in lookup.keys_of(policy_kind)
	some target in attachment.targets(policy)
	levels.of(target) != "Namespace"
	key := keys.parse(target).object
}

# METADATA
# description: An object has a place in the picture; a frontend has one if a route names it.
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

# METADATA
# description: |
#   The object that a GatewayClass or Gateway takes its parameters from (Gateway API, GatewayClassSpec.parametersRef and
#   GatewayInfrastructure.parametersRef), whether it exists or not. It is not a part of the hierarchy: no policy acts through this
#   link. `level` is that of the key. Undefined for other levels, and where there is none.
parameters_at("GatewayClass", key) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	ref := lookup.get(key).spec.parametersRef
}

parameters_at("Gateway", key) := keys.named(ref.group, ref.kind, split(key, "/")[2], ref.name) if {
	ref := lookup.get(key).spec.infrastructure.parametersRef
}

# METADATA
# description: |
#   The policies that no active policy kind describes and that name an object on a path to a node, or a section of one,
#   as rejected attachments, `{policy, target, reason, message}`. A section beside the path is omitted (semantics K6).
undescribed_above(node) := {rejection |
	nodes := {on | some path in hierarchy.paths(node, true); some on in path} | hierarchy.sections(node)
	some object_key in {keys.parse(on).object | some on in nodes}
	some policy in index.policies_targeting(object_key)
	obj := lookup.get(policy)
	kinds.is_undescribed(policy, obj)
	some ref in index.target_refs(obj)
	ref.object == object_key
	_is_on_path(ref, nodes)
	rejection := {
		"policy": policy,
		"target": ref.key,
		"reason": "NotDescribed",
		"message": kinds.undescribed_message(keys.type_of(policy)),
	}
}

_is_on_path(ref, nodes) if ref.key in nodes

_is_on_path(ref, _) if not hierarchy.canonical_key(ref.key)

# METADATA
# description: |
#   The declared links of the given nodes, above or below them, that do not count: a list of `{parent, child, reason,
#   message}` (semantics P2). The other end may be outside the nodes, or not exist. A listener that does not accept a
#   route is omitted if another one accepts it for the same parentRef.
rejected_links(nodes) := sort({link |
	objects := {_whole(node) | some node in nodes}
	some child in (objects | _declared_below(objects))
	some link in hierarchy.rejected_above(child)
	_joins(link, objects)
	not _taken_elsewhere(link)
})

_declared_below(objects) := {child | some object_key in objects; some child in index.declared_children(object_key)}

_joins(link, objects) if _whole(link.child) in objects

_joins(link, objects) if {
	not _whole(link.child) in objects
	_whole(link.parent) in objects
}

_taken_elsewhere(link) if {
	keys.parse(link.parent).section != ""
	refs := hierarchy.parent_refs(link.child, link.parent)
	count(refs) > 0
	taken := {ref | some above in hierarchy.parents(link.child); some ref in hierarchy.parent_refs(link.child, above)}
	count(refs - taken) == 0
}

# The object of a node in the role of the node.
_whole(node) := concat("", [trim_suffix(keys.parse(node).object, "@frontend"), "@frontend"]) if {
	keys.is_frontend(node)
} else := keys.parse(node).object
