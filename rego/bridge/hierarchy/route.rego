package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The rules of a route, in its order.
rules(route_key) := lookup.get(route_key).spec.rules

# METADATA
# description: A rule's section name, its name or, where it has none, its place as `[n]` (semantics K3).
rule_name(rule, _) := rule.name

rule_name(rule, index) := sprintf("[%d]", [index]) if not rule.name

# METADATA
# description: The keys of the parents that a route's parentRefs name, with each ref, in the route's order.
parent_refs(route) := [{"key": key, "ref": ref} |
	some ref in route.spec.parentRefs
	key := keys.format(
		object.get(ref, "group", gateway_api),
		object.get(ref, "kind", "Gateway"),
		object.get(ref, "namespace", route.metadata.namespace),
		ref.name,
	)
]

# A route's parents stand above it, its backends below.
_declared_edges(type, route) := above | below if {
	object_level(type) == "Route"
	self := keys.of(route)
	above := {[parent.key, self] | some parent in parent_refs(route)}
	below := {[self, backend_key(route, ref)] | some rule in route.spec.rules; some ref in rule.backendRefs}
}

# Only listeners that the route is allowed to attach to stand above it (Gateway API, Route parentRefs).
_object_parents("Route", route_key) := {keys.section(parent.key, listener.name) |
	route := lookup.get(route_key)
	some parent in parent_refs(route)
	object_level(keys.parse(parent.key).type) == "Gateway"
	some listener in listeners(parent.key)
	selected_by(parent.ref, listener)
	refusals(route, parent.key, listener) == set()
}
