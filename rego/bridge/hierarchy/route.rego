package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The section names of a route's rules, in its order, each its name or, where it has none, its place as `[n]`
#   (semantics K3). Of two rules with one name, which the API refuses, the second has none.
rule_names(route_key) := [name |
	some index, written in names
	name := _unless_earlier(written, array.slice(names, 0, index), index)
] if {
	names := [section_name(rule, sprintf("[%d]", [index])) | some index, rule in lookup.get(route_key).spec.rules]
}

_unless_earlier(name, earlier, index) := sprintf("[%d]", [index]) if {
	name in earlier
} else := name

# The key of what a parentRef of a route or ListenerSet in a namespace names.
_parent_key(ref, namespace) := keys.format(
	object.get(ref, "group", gateway_api),
	object.get(ref, "kind", "Gateway"),
	object.get(ref, "namespace", namespace),
	ref.name,
)

# The node that a parentRef means: what is neither a Gateway nor a ListenerSet nor otherwise known is a mesh frontend.
_parent_node(ref, namespace) := node if {
	node := _parent_key(ref, namespace)
	object_level(keys.parse(node).type) != "Backend"
} else := frontend(_parent_key(ref, namespace))

# What the refs of many routes have in common is made once a query.
_named_above("Route", route) := _parents_named(route.spec.parentRefs, route.metadata.namespace)

_parents_named(refs, namespace) := {_parent_node(ref, namespace) | some ref in refs}

_named_below("Route", route) := {key |
	namespace := route.metadata.namespace
	some rule in route.spec.rules
	some key in _backends_named(rule.backendRefs, namespace)
}

_backends_named(refs, namespace) := {backend_key(ref, namespace) | some ref in refs}

# Only frontends that exist and listeners that the route is allowed to attach to stand above it (Gateway API, parentRefs).
_object_parents("Route", route_key) := _listeners_above(route_key) | _frontends_above(route_key)

_listeners_above(route_key) := {keys.section(object_key, name) |
	spec := lookup.get(route_key).spec
	about := keys.parse(route_key)
	hostnames := [lower(hostname) | some hostname in spec.hostnames]
	some ref in spec.parentRefs
	object_key := _parent_key(ref, about.namespace)
	some name, hostname in admitting(object_key, about.type, about.namespace, object.get(ref, "sectionName", ""), object.get(ref, "port", 0))
	hostnames_meet(hostnames, hostname)
}

_frontends_above(route_key) := {node |
	some ref in lookup.get(route_key).spec.parentRefs
	not object.get(ref, "kind", "Gateway") in {"Gateway", "ListenerSet"}
	node := _parent_node(ref, keys.parse(route_key).namespace)
	is_frontend(node)
	frontend_refusal(trim_suffix(node, "@frontend"), object.get(ref, "sectionName", ""), object.get(ref, "port", 0)) == ""
}
