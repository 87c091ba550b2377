package bridge.topology

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys

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
