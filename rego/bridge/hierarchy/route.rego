package bridge.hierarchy

import data.bridge.lib.keys

# METADATA
# description: |
#   The section names of a route's rules, in its order, each its name or, where it has none, its place as `[n]`
#   (semantics K3). Of two rules with one name, which the API refuses, the second has none.
rule_names(route_key) := facts(route_key).sections

_rule_names(rules) := names if {
	names := _written_names(rules)
	count({name | some name in names}) == count(names)
} else := [name |
	names := _written_names(rules)
	some index, written in names
	name := _unless_earlier(written, array.slice(names, 0, index), index)
]

_written_names(rules) := [section_name(rule, sprintf("[%d]", [index])) | some index, rule in rules]

_unless_earlier(name, earlier, index) := sprintf("[%d]", [index]) if {
	name in earlier
} else := name

# The key of what a parentRef of a route or ListenerSet in a namespace names; undefined where such an object cannot exist.
_parent_key(ref, namespace) := keys.named(
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

_listeners_above(route_key) := {node |
	some ref in known.parents
	some nodes in object.filter(_admitting_nodes(ref.object, known.type, known.namespace, ref.section, ref.port), known.endings)
	some node in nodes
} if {
	known := facts(route_key)
	not known.wild
} else := {node |
	some ref in known.parents
	some ending, nodes in _admitting_nodes(ref.object, known.type, known.namespace, ref.section, ref.port)
	_in_common(ending, known)
	some node in nodes
} if {
	known := facts(route_key)
}

# A listener's hostname as an ending, and those of a route that has wildcards or no hostnames.
_in_common(ending, known) if ending in known.endings

_in_common(ending, known) if strings.any_suffix_match(ending, known.wild)

# The listener nodes that admit such routes, by the ending of their hostnames.
_admitting_nodes(object_key, type, namespace, section_name, port) := {ending: nodes |
	own := split(object_key, "/")[2]
	some ending, entries in facts(object_key).nodes
	nodes := {node |
		some [node, name, at_port, allowed, taking] in entries
		section_name in {"", name}
		port in {0, at_port}
		_kind_allowed(taking, type)
		namespaces_admit(allowed, "Same", own, namespace)
	}
}

# A hostname as an ending that the hostnames of routes, after a slash, have that it has a name in common with.
_ending("") := ""

_ending(hostname) := trim_prefix(hostname, "*") if startswith(hostname, "*.")

_ending(hostname) := concat("", ["/", hostname]) if {
	hostname != ""
	not startswith(hostname, "*.")
}

# The endings of listeners that take a route with this hostname (no wildcard).
_endings(hostname) := array.concat([concat("", ["/", hostname])], _endings_above(substring(hostname, indexof(hostname, "."), -1))) if {
	contains(hostname, ".")
} else := [concat("", ["/", hostname])]

# Many hostnames share their domain.
_endings_above(domain) := [concat(".", array.concat([""], array.slice(labels, index, 100))) | some index, _ in labels; index > 0] if {
	labels := split(domain, ".")
}

_frontends_above(route_key) := {ref.node |
	some ref in facts(route_key).frontends
	frontend_refusal(trim_suffix(ref.node, "@frontend"), ref.section, ref.port) == ""
}
