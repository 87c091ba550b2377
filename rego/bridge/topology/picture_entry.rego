package bridge.topology

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

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
