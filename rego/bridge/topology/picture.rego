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
#   The picture of one object: `nodes` (the object, its sections, its frontend) with `{level, policies, parameters?}`,
#   and its declarations: `edges` `[parent, child]` that count, `refused` ones with their reason. `alone` means that it
#   is drawn even without an edge. Its size is independent of other objects' declarations. Undefined for objects without
#   a place in the picture.
entry(object_key) := {
	"nodes": {node: object.union(
		{"level": level, "policies": policies_at(node, kinds.names)},
		{"parameters": named | named := parameters_at(level, node)},
	) |
		some node in nodes
		level := levels.of(node)
	},
	"edges": sort(_edges(nodes)),
	"refused": sort(_refused_links(object_key)),
	"alone": _alone(object_key),
} if {
	hierarchy.exists(object_key)
	_is_in_picture(object_key)
	nodes := _nodes(object_key)
}

_is_in_picture(object_key) if {
	hierarchy.has_place(object_key)
} else if {
	count(attachment.policies_targeting(object_key)) > 0
} else if {
	_is_frontend_there(object_key)
}

_is_frontend_there(object_key) if {
	node := keys.frontend(object_key)
	is_placed(node)
}

_nodes(object_key) := ({object_key} | hierarchy.sections(object_key)) | {node |
	node := keys.frontend(object_key)
	is_placed(node)
}

_edges(nodes) := {[parent, node] | some node in nodes; some parent in _above(node)} | {[rule, backend] |
	some node in nodes
	levels.of(node) == "Route"
	some rule, backends in hierarchy.rule_backends(node)
	some backend, numbers in backends
	hierarchy.exists(backend)
	hierarchy.leads_to(keys.type_of(node), backend, numbers)
}

# Any number of rules may name a backend: their entries have these edges, so a change of one rule costs only that rule.
_above(node) := set() if {
	hierarchy.is_unaccepted(node)
} else := hierarchy.parents(node) if {
	levels.of(node) != "Backend"
} else := hierarchy.extension_parents(node) if {
	index.has_extension_links
} else := set()

_refused_links(object_key) := {link |
	some link in hierarchy.rejections_by(object_key)
	_reports_refused(object_key, link)
} if {
	_has_refused(object_key)
} else := set()

_has_refused(object_key) if levels.of(object_key) != "Backend"

_has_refused(_) if index.has_extension_links

_reports_refused(object_key, _) if levels.of(object_key) != "Backend"

_reports_refused(_, link) if levels.of(link.parent) != "Route"

_alone(object_key) if {
	levels.of(object_key) in {"GatewayClass", "Gateway", "Route", "ListenerSet"}
} else := false

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

# METADATA
# description: |
#   The objects whose picture a change of the objects `changed` may affect: `was` has by key their previous index paths,
#   `appeared` are those of `changed` that were not drawn before, or that were deleted.
changed_entries(changed, was, appeared) := union({
	changed,
	{key | some object_key in changed; some key in _entries_led_to(object_key, was)},
	{key | some object_key in appeared; some key in _declared_parents(object_key)},
	{key | some object_key in changed; some key in _dependent_objects(object_key)},
	{key | some object_key in changed; some [_, keys_there] in attachment.reselections(object_key); some key in keys_there},
})

# The entries of other objects that depend on the object's declarations, current or previous: its children by extension
# modules, frontends, its targets.
_entries_led_to(object_key, was) := {key |
	some path in (_paths_of(object_key) | {path | some path in was[object_key]})
	some key in _objects_of_path(object_key, path)
}

_paths_of(object_key) := {entry.path | some entry in policies.entries(lookup.get(object_key))}

_objects_of_path(_, ["extended", child]) := {trim_suffix(child, "@frontend")}

_objects_of_path(object_key, ["children", parent]) := {trim_suffix(parent, "@frontend")} | hierarchy.rivals_at(object_key, ["children", parent]) if {
	keys.is_frontend(parent)
}

# A Gateway that becomes a default Gateway, or stops being one, concerns the routes that use default Gateways.
_objects_of_path(_, ["parents", child]) := index.declared_children(child) if child == index.default_gateways_key

_objects_of_path(_, ["targeted", target]) := {target}

_objects_of_path(object_key, ["claims", gateway, port, slot]) := _with_links_below(hierarchy.rivals_at(object_key, ["claims", gateway, port, slot]))

_objects_of_path(_, ["selectors", namespace, type, text]) := {ref.object | some ref in policies.selected_refs(namespace, type, text)}

_declared_parents(object_key) := index.declared_parents(object_key)

# The objects whose links and refs depend on this object: those directly below it, those in a Namespace, those that need
# a grant.
_dependent_objects(object_key) := (_direct_dependents(object_key) | {key |
	some policy in _direct_dependents(object_key)
	kinds.of_policy(policy)
	some ref in policies.declared_refs(policy)
	key := ref.object
}) | {ref.object |
	some policy_kind in index.class_limited_kinds
	some policy in index.class_limited_policies(policy_kind)
	some ref in policies.named_refs(policy)
	ref.class
	ref.object in hierarchy.objects_below(object_key)
}

_direct_dependents(object_key) := ((_with_links_below(hierarchy.rivals(object_key)) | {trim_suffix(key, "@frontend") | some key in hierarchy.step_below(object_key)}) | {key |
	keys.parse(object_key).type == "gateway.networking.k8s.io/ReferenceGrant"
	some key in index.referrers(keys.parse(object_key).namespace)
}) | {key |
	# The ports of a Service decide which refs to it are valid.
	keys.type_of(object_key) == "core/Service"
	some key in index.declared_parents(object_key)
}

_with_links_below(object_keys) := object_keys | {trim_suffix(below, "@frontend") |
	some object_key in object_keys
	some below in hierarchy.step_below(object_key)
}
