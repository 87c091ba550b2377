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
import data.bridge.policy as policies

# A node of the tree: `{level, children, policies}`, with `namespace` if a Namespace with policies is above it
# (semantics P3), and `parameters` (see `parameters`). `policies` name or select the node, `{policy, policyKind,
# accepted, reason?}`.
node(key, policy_kinds) := object.union_n([
	_drawn(key, policy_kinds),
	{"children": sort(_children(key))},
	{"namespace": namespace | namespace := _namespace(key, policy_kinds)},
])

_drawn(key, policy_kinds) := object.union(
	{"level": level, "policies": _policies_at(key, policy_kinds)},
	{"parameters": named | named := _parameters_at(level, key)},
) if level := levels.of(key)

_children(key) := hierarchy.members(keys.parse(key).name) if {
	levels.of(key) == "Namespace"
} else := hierarchy.children(key)

_namespace(key, policy_kinds) := namespace if {
	not contains(key, "#")
	name := split(key, "/")[2]
	name != "-"
	namespace := keys.format("", "Namespace", "", name)
	count(_policies_at(namespace, policy_kinds)) > 0
}

# Policies that no policy kind describes are shown at their targets, unless the query names one kind (semantics K6).
_policies_at(key, policy_kinds) := sort({entry |
	object_key := keys.object_of(key)
	some policy in attachment.policies_targeting(object_key)
	policy_kind := keys.type_of(policy)
	policy_kind in policy_kinds
	some ref in attachment.refs_on(policy, object_key)
	_shown_at(policy_kind, ref) == key
	entry := object.union({"policy": policy, "policyKind": policy_kind}, _counts(policy, ref))
} | {{"policy": policy, "policyKind": keys.type_of(policy), "accepted": false, "reason": "NotDescribed"} |
	not input.policyKind
	some [policy, ref] in _undescribed_refs(keys.object_of(key))
	ref.key == key
})

# The node at which a policy is shown. A section that does not exist has none: its policies are at the object, rejected.
_shown_at(policy_kind, ref) := place if {
	place := attachment.place(policy_kind, ref.key)
} else := ref.object if {
	contains(ref.key, "#")
}

_undescribed_refs(object_key) := {[policy, ref] |
	some policy in index.policies_at("targeted", object_key)
	kinds.may_be_undescribed(keys.type_of(policy))
	obj := lookup.get(policy)
	kinds.is_undescribed(policy, obj)
	some ref in index.target_refs(obj)
	ref.object == object_key
}

_counts(policy, ref) := {"accepted": false, "reason": policies.refusal(policy).reason} if {
	not attachment.takes_part(policy)
} else := object.union({"accepted": reason == "Accepted"}, {"reason": reason | reason != "Accepted"}) if {
	reason := attachment.verdict(policy, ref).reason
}

# The roots of the whole tree: the objects and frontends without a parent that counts, and with a child or a policy.
# Objects without policies and links are not part of the tree.
roots(policy_kinds) := {key |
	some key in _placed_nodes
	count(hierarchy.parents(key)) == 0
	_is_root(key, policy_kinds)
}

_placed_nodes := ({key |
	some type, at in levels.by_type
	not at.object == "Namespace"
	some object_key in lookup.keys_of(type)
	some key in {object_key, keys.frontend(object_key)}
	_is_placed(key)
} | {node |
	# Routes may have parents of kinds without a level, such as ServiceImport.
	some node in index.frontends
	hierarchy.exists(trim_suffix(node, "@frontend"))
	_is_placed(node)
}) | {keys.parse(target).object |
	# Targets of policies with types outside the hierarchy are nodes too.
	some policy_kind in kinds.in_use
	some policy in lookup.keys_of(policy_kind)
	some target in attachment.targets(policy)
	levels.of(target) != "Namespace"
}

# An object has a place in the picture; a frontend has one if a route names it.
_is_placed(key) if not keys.is_frontend(key)

_is_placed(key) if count(index.declared_children(key)) > 0

_is_root(key, _) if levels.of(key) in _first_levels
_is_root(key, _) if count(hierarchy.children(key) - hierarchy.sections(key)) > 0

_is_root(key, policy_kinds) if {
	namespaces := {namespace | namespace := _namespace(key, policy_kinds)}
	some node in union({{key}, hierarchy.sections(key), namespaces})
	count(_policies_at(node, policy_kinds)) > 0
}

# The object that a GatewayClass or Gateway takes its parameters from (Gateway API, GatewayClassSpec.parametersRef and
# GatewayInfrastructure.parametersRef), whether it exists or not. It is not a part of the hierarchy: no policy acts through this
# link. `level` is that of the key. Undefined for other levels, and where there is none.
_parameters_at("GatewayClass", key) := keys.named(ref.group, ref.kind, object.get(ref, "namespace", ""), ref.name) if {
	ref := lookup.get(key).spec.parametersRef
}

_parameters_at("Gateway", key) := keys.named(ref.group, ref.kind, split(key, "/")[2], ref.name) if {
	ref := lookup.get(key).spec.infrastructure.parametersRef
}

# The policies that no active policy kind describes and that name an object on a path to a node, or a section of one, as
# rejected attachments, `{policy, target, reason, message}`. A section beside the path is omitted (semantics K6).
undescribed_above(node) := {rejection |
	nodes := {on | some path in hierarchy.paths(node, false); some at in path; some on in hierarchy.step(at, true)} | hierarchy.sections(node)
	some object_key in {keys.parse(on).object | some on in nodes}
	some [policy, ref] in _undescribed_refs(object_key)
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

# The declared links of the given nodes, above or below them, that are ignored: a list of `{parent, child, reason,
# message}` (semantics P2). The other end may be outside the nodes, or not exist.
rejected_links(nodes) := sort({link |
	objects := {_whole(node) | some node in nodes}
	below := {child | some object_key in objects; some child in index.declared_children(object_key)}
	some child in (objects | below)
	some link in hierarchy.not_taken_elsewhere(hierarchy.rejected_above(child))
	count({_whole(end) | some end in [link.child, link.parent]} & objects) > 0
})

# The object of a node in the role of the node.
_whole(node) := concat("", [trim_suffix(keys.parse(node).object, "@frontend"), "@frontend"]) if {
	keys.is_frontend(node)
} else := keys.parse(node).object

# The picture of one object: `nodes` (the object, its sections, its frontend) with `{level, policies, parameters?,
# hostnames?}`, its `created` time, and its declarations: accepted `edges` `[parent, child]`, and `refused` links in the form of
# `rejected_links`. `alone` means that it is drawn even without an edge. Its size is independent of other objects' declarations. Undefined for
# objects without a place in the picture.
entry(object_key) := {
	"nodes": {node: object.union(_drawn(node, kinds.names), _hostnames(node)) | some node in nodes},
	"edges": sort({[parent, node] | some node in nodes; some parent in _above(node)} | {[rule, backend] |
		some node in nodes
		levels.of(node) == "Route"
		some rule, backends in hierarchy.rule_backends(node)
		some backend, numbers in backends
		hierarchy.exists(backend)
		hierarchy.leads_to(keys.type_of(node), backend, numbers)
	}),
	"refused": sort(hierarchy.explained(hierarchy.unserved_links(object_key))),
	"alone": levels.of(object_key) in _first_levels,
	"created": _created(object_key),
} if {
	hierarchy.exists(object_key)
	_is_in_picture(object_key)
	nodes := {node | some node in {object_key, keys.frontend(object_key)}; _is_placed(node)} | hierarchy.sections(object_key)
}

# When the object was created, for people; empty where it does not say so, as in a folder.
_created(object_key) := time if {
	time := lookup.get(object_key).metadata.creationTimestamp
	is_string(time)
} else := ""

# The hostnames of a route or a listener, by which users search.
_hostnames(node) := {"hostnames": names | names := [name | some name in _named_hosts(levels.of(node), node); is_string(name)]; count(names) > 0}

_named_hosts("Route", node) := lookup.get(node).spec.hostnames

_named_hosts("Listener", node) := [hierarchy.listener(node).hostname]

_is_in_picture(object_key) if {
	hierarchy.has_place(object_key)
} else if {
	count(attachment.policies_targeting(object_key)) > 0
} else if {
	_is_placed(keys.frontend(object_key))
}

# Any number of rules may name a backend: their entries have these edges, so a change of one rule costs only that rule.
_above(node) := set() if {
	hierarchy.is_unaccepted(node)
} else := hierarchy.parents(node) if {
	levels.of(node) != "Backend"
} else := hierarchy.extension_parents(node) if {
	index.has_extension_links
} else := set()

# The first objects of a picture, from the top down, in parts of one level: objects with `alone`, objects that extension
# modules place, and targets of policies. Edges connect all others.
picture_roots := array.concat([sort(_of_levels({name})) | some name in _first_levels], [sort(_of_levels(further) | targets)]) if {
	further := {at.object | some at in levels.by_type} - ({level | some level in _first_levels} | {"Backend", "Namespace"})
	targets := index.targeted_objects | {ref.object |
		some policy_kind in kinds.in_use
		policies.may_select(policy_kind)
		some policy in lookup.keys_of(policy_kind)
		some ref in policies.declared_refs(policy)
	}
}

# The levels whose objects are drawn without an edge and a policy, too.
_first_levels := ["GatewayClass", "Gateway", "ListenerSet", "Route"]

_of_levels(names) := {key | some type, at in levels.by_type; at.object in names; some key in lookup.keys_of(type)}

# The objects whose picture a change of the objects `changed` may affect: `was` has by key their previous index paths,
# `appeared` are those of `changed` that were not drawn before, or that were deleted.
changed_entries(changed, was, appeared) := union({
	changed,
	# The entries of other objects that depend on an object's declarations, current or previous: its children by extension
	# modules, frontends, its targets.
	{key |
		some object_key in changed
		some path in _index_paths(object_key, was)
		some key in _objects_of_path(object_key, path)
	},
	{keys.object_of(end) |
		index.has_extension_links
		paths := {path | some object_key in changed; some path in _index_paths(object_key, was)}
		some end in hierarchy.ends_in_cycles(changed, paths)
	},
	{key | some object_key in appeared; some key in index.declared_parents(object_key)},
	# Whether the name of a missing GatewayClass is a mistake depends on the names of all that exist.
	{gateway |
		some object_key in appeared
		keys.type_of(object_key) == "gateway.networking.k8s.io/GatewayClass"
		some gateway in lookup.keys_of("gateway.networking.k8s.io/Gateway")
		some class in index.facts(gateway).class
		not hierarchy.exists(class)
	},
	{key | some object_key in changed; some key in _dependent_objects(object_key)},
	_with_links_below(hierarchy.sharing_with(changed, was)),
	{key | some object_key in changed; some [_, keys_there] in attachment.reselections(object_key); some key in keys_there},
})

_index_paths(object_key, was) := {entry.path | some entry in policies.entries(lookup.get(object_key))} | {path | some path in was[object_key]}

_objects_of_path(_, ["extended", child]) := {trim_suffix(named, "@frontend") | some named in hierarchy.routes_named(child)}

_objects_of_path(object_key, ["children", parent]) := {trim_suffix(parent, "@frontend")} | hierarchy.rivals_at(object_key, ["children", parent]) if {
	keys.is_frontend(parent)
}

# A Gateway that becomes a default Gateway, or stops being one, concerns the routes that use default Gateways.
_objects_of_path(_, ["parents", child]) := index.declared_children(child) if child == index.default_gateways_key
_objects_of_path(_, ["targeted", target]) := {target}
_objects_of_path(object_key, ["claims", gateway, port, slot]) := _with_links_below(hierarchy.rivals_at(object_key, ["claims", gateway, port, slot]))
_objects_of_path(_, ["selectors", namespace, type, text]) := {ref.object | some ref in policies.selected_refs(namespace, type, text)}

# The objects whose links and refs depend on this object: those directly below it, those in a Namespace, those that need
# a grant.
_dependent_objects(object_key) := union({
	direct,
	{ref.object | some policy in direct; kinds.of_policy(policy); some ref in policies.declared_refs(policy)},
	{ref.object |
		some policy_kind in index.kinds_with("limited")
		some policy in index.policies_at("limited", policy_kind)
		some ref in policies.named_refs(policy)
		ref.class
		ref.object in hierarchy.objects_below(object_key)
	},
}) if {
	direct := union({
		_with_links_below(hierarchy.rivals(object_key)),
		_links_below(object_key),
		{key |
			keys.type_of(object_key) == "gateway.networking.k8s.io/ReferenceGrant"
			some key in index.referrers(keys.namespace(object_key))
		},
		# The ports of a Service decide which refs to it are valid.
		{key | keys.type_of(object_key) == "core/Service"; some key in index.declared_parents(object_key)},
	})
}

_with_links_below(object_keys) := object_keys | {below | some object_key in object_keys; some below in _links_below(object_key)}

_links_below(object_key) := {trim_suffix(below, "@frontend") | some below in hierarchy.step_below(object_key)}
