package bridge.outcomes

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The places that report a policy's effect, `[object, place]`, by its outcome on a path: its declared `targets` on the
#   path and `marks_of_target`, the places of the effective target (GEP-713, "Target object status"; semantics S4). An
#   Overridden policy affects nothing.
marks(above, marks_of_target, fate) := [] if {
	not fate.outcome in {"Programmed", "PartiallyProgrammed"}
} else := sort(marks_of_target | {mark | some target in fate.targets; some mark in places(target, above)})

# METADATA
# description: |
#   The places that can report on a node, `[object, place]`: a listener's own status by its name; a route's status for
#   each parentRef that selects `above`, by that parentRef as JSON; for other nodes the object itself, "".
places(node, above) := {[parts.object, parts.section]} if {
	levels.of(node) == "Listener"
	parts := keys.parse(node)
} else := _places_of_route(route, above) if {
	route := keys.parse(node).object
	levels.of(route) == "Route"
} else := {[keys.parse(node).object, ""]}

# The same for all rules of a route.
_places_of_route(route, above) := {[route, text] |
	[object_key, section] := split(above, "#")
	some ref in index.facts(route).parents
	text := _ref_text(route, ref, object_key)
	ref.section in {"", section}
	hierarchy.has_port(above, ref.port)
} if {
	contains(above, "#")
} else := {[route, json.marshal(ref)] | some ref in hierarchy.parent_refs(route, above)}

_ref_text(_, ref, object_key) := ref.text if ref.object == object_key

_ref_text(route, ref, gateway) := json.marshal(hierarchy.default_ref(gateway)) if {
	ref.object == index.default_gateways_key
	every other in index.facts(route).parents {
		other.object != gateway
	}
	gateway in index.default_gateways
}

# METADATA
# description: The node directly above the route of a path to a node, without Namespaces; empty if the path has none.
above_route(node, path) := _lowest(array.slice(path, length - 4, length - 2)) if {
	length := count(path)
	levels.by_type[keys.type_of(node)].section == "Rule"
	contains(node, "#")
} else := _lowest(array.slice(path, position - 2, position)) if {
	some position, route in path
	levels.of(route) == "Route"
} else := ""

# The lowest of the two nodes above a route that is not a Namespace.
_lowest(nodes) := [node | some node in array.reverse(nodes); levels.of(node) != "Namespace"][0] if {
	true
} else := ""
