package bridge.topology

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

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
