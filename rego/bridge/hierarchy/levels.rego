# METADATA
# title: Hierarchy
# description: |
#   `GatewayClass > Gateway > Listener (or ListenerSet > its listener) > xRoute > rule > backend > port`.
#   GEP-713, "Hierarchy of target kinds". One file a kind; a node is a key (an object or a section of it).
package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

gateway_api := "gateway.networking.k8s.io"

# METADATA
# description: |
#   The level of a type's objects, and that of their sections. A type that is not listed is a backend. Extension modules
#   list further ones.
levels := _shipped_levels if {
	count(extension_levels) == 0
} else := object.union(object.remove(extension_levels, object.keys(_shipped_levels)), _shipped_levels)

_shipped_levels := {
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
}

# METADATA
# description: What a policy kind may name as the level of its effective targets.
level_names := ["GatewayClass", "Gateway", "Listener", "Route", "Rule", "Backend", "Port", "Target"]

# METADATA
# description: The level of a node.
level(node) := object_level(keys.type_of(node)) if {
	not regex.match(`[#@]`, node)
} else := levels[keys.type_of(node)].section if {
	not contains(node, "@")
} else := "Frontend" if {
	is_frontend(node)
	parts := keys.parse(node)
	parts.section == ""
	object_level(parts.type) == "Backend"
}

# METADATA
# description: The level of the objects of a type.
object_level(type) := object.get(levels, [type, "object"], "Backend")

# METADATA
# description: Types whose objects have sections that a sectionName can name.
has_sections(type) if levels[type].section

# METADATA
# description: |
#   Types that are known to be cluster-scoped, by what they are or by their CRD's scope. Only cluster-scoped policies may
#   target them, but for a policy's own Namespace (semantics T3).
cluster_scoped(type) if type in {"core/Namespace", "gateway.networking.k8s.io/GatewayClass"}

cluster_scoped(type) if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type == concat("/", [crd.spec.group, crd.spec.names.kind])
	crd.spec.scope == "Cluster"
}
