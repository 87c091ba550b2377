package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   Where it is to be said that a policy affects something, by what became of it on a path to a node: `[object, place]`
#   each. Its declared targets on the path and, by `fanout`, the object or listener that holds the effective target
#   (GEP-713, "Target object status"; semantics S4). An Overridden policy affects nothing.
marks_of(policy_kind, node, above, told) := [] if {
	not told.outcome in {"Programmed", "PartiallyProgrammed"}
} else := sort({mark | some held in array.concat([node], told.targets); some mark in places(held, above)}) if {
	kinds.get(policy_kind).fanout == "EffectiveTargets"
} else := sort({mark | some target in told.targets; some mark in places(target, above)}) if {
	kinds.get(policy_kind).fanout == "DeclaredTargets"
} else := []

# METADATA
# description: |
#   The places that can tell of a node, `[object, place]`: a listener's own status by its name; a route's status for each
#   parentRef that leads to `above`, by that parentRef as JSON; of all else the object itself, "".
places(node, above) := {[parts.object, parts.section]} if {
	hierarchy.level(node) == "Listener"
	parts := keys.parse(node)
} else := {[route, json.marshal(ref)] | some ref in hierarchy.parent_refs(route, above)} if {
	route := keys.parse(node).object
	hierarchy.level(route) == "Route"
} else := {[keys.parse(node).object, ""]}

# METADATA
# description: The node directly above the route of a path, without Namespaces; empty where the path has none.
above_route(path) := upper[count(upper) - 1] if {
	some index, node in path
	hierarchy.level(node) == "Route"
	upper := [above | some above in array.slice(path, 0, index); hierarchy.level(above) != "Namespace"]
	count(upper) > 0
} else := ""
