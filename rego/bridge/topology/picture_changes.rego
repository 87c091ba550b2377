package bridge.topology

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies

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
