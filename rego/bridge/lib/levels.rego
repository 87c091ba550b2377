# METADATA
# title: Levels
# description: |
#   `GatewayClass > Gateway > Listener (or ListenerSet > its listener) > xRoute > rule > backend > port`. GEP-713,
#   "Hierarchy of target kinds". Extension modules assign levels to further types.
package bridge.lib.levels

import data.bridge.lib.keys

# The level of a type's objects, and that of their sections, `{object, section?}`. An unlisted type is a backend.
by_type := shipped if {
	extensions == {}
} else := object.union(object.remove(extensions, object.keys(shipped)), shipped)

# The same for the types of the shipped hierarchy.
shipped := {
	"gateway.networking.k8s.io/GatewayClass": {"object": "GatewayClass"},
	"gateway.networking.k8s.io/Gateway": {"object": "Gateway", "section": "Listener"},
	"gateway.networking.k8s.io/ListenerSet": {"object": "ListenerSet", "section": "Listener"},
	"gateway.networking.k8s.io/HTTPRoute": {"object": "Route", "section": "Rule"},
	"gateway.networking.k8s.io/GRPCRoute": {"object": "Route", "section": "Rule"},
	"gateway.networking.k8s.io/TLSRoute": {"object": "Route", "section": "Rule"},
	"gateway.networking.k8s.io/TCPRoute": {"object": "Route", "section": "Rule"},
	"gateway.networking.k8s.io/UDPRoute": {"object": "Route", "section": "Rule"},
	"core/Namespace": {"object": "Namespace"},
	"core/Service": {"object": "Backend", "section": "Port"},
	"multicluster.x-k8s.io/ServiceImport": {"object": "Backend", "section": "Port"},
	"networking.istio.io/ServiceEntry": {"object": "Backend", "section": "Port"},
}

# Those of them whose objects are in no namespace.
cluster_scoped := {"core/Namespace", "gateway.networking.k8s.io/GatewayClass"}

# The same for the types to which extension modules assign a level. If two modules list one type, the first by name
# decides; the levels of shipped types cannot change.
extensions := {type: claims[0] |
	some levels in by_module
	some type, _ in levels
	is_type(type)
	claims := [level | some level in [by_module[name][type] | some name in sort(object.keys(by_module))]; is_level(level)]
}

# The `levels` of each extension module, as in the module, by its name.
by_module := {name: levels |
	levels := data.bridge.extensions.hierarchy[name].levels
	is_object(levels)
}

# The types of which every name exists, by extension modules.
virtual_types := {type |
	some type in data.bridge.extensions.hierarchy[_].virtual
	is_type(type)
}

# A text names a type, `<group>/<Kind>`.
is_type(text) if regex.match(`^[^/#@]+/[^/#@]+$`, text)

# A module may assign this level to a type: `object` is the level of its objects, a shipped level or a new one,
# `section` that of their sections.
is_level(level) if {
	is_object(level)
	regex.match(`^[A-Z][A-Za-z]*$`, level.object)
	not level.object in {"Listener", "Rule", "Port", "Frontend", "Target", "Namespace"}
	object.get(level, "section", "Port") in {"Listener", "Rule", "Port"}
}

# The levels that a policy kind may have as its effectiveTarget.
names := ["GatewayClass", "Gateway", "Listener", "Route", "Rule", "Backend", "Port", "Target"]

# The level of a node.
of(node) := of_type(keys.type_of(node)) if {
	not regex.match(`[#@]`, node)
} else := by_type[keys.type_of(node)].section if {
	not contains(node, "@")
} else := "Frontend" if {
	keys.is_frontend(node)
	not contains(node, "#")
	of_type(keys.type_of(node)) == "Backend"
}

# The level of the objects of a type.
of_type(type) := object.get(by_type, [type, "object"], "Backend")

# Objects of the type have sections that a sectionName can name.
has_sections(type) if by_type[type].section
