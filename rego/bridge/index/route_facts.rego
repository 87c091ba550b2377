package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The facts of a route: `type`, `namespace`, `sections` (the names of its rules), `parents` (the Gateways and ListenerSets
#   that its parentRefs name, `{object, section, port, text}`), `endings` (those of listeners' hostnames that share a name with
#   its hostnames, see `hostname_ending`), `wild` (the endings of its wildcards, "" for a route of every hostname), `frontends`
#   (`{node, section, port}`).
facts_at("Rule", type, route) := object.union_n([{"wild": wild | wild != []}, {"frontends": nodes | nodes := _frontends_of(route, namespace); nodes != []}, {
	"type": type,
	"namespace": namespace,
	"sections": rule_names(object.get(route.spec, "rules", [])),
	"parents": [{"object": key, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0), "text": json.marshal(ref)} |
		some ref in route.spec.parentRefs
		key := parent_key(ref, namespace)
		levels.of_type(keys.type_of(key)) != "Backend"
	],
	"endings": array.concat([""], array.flatten([_endings(lower(name)) | some name in hostnames])),
}]) if {
	namespace := keys.namespace_name(object.get(route.metadata, "namespace", ""))
	hostnames := object.get(route.spec, "hostnames", [])
	wild := array.concat(
		[substring(lower(name), 1, -1) | some name in hostnames; startswith(name, "*.")],
		["" | hostnames == []],
	)
}

_frontends_of(route, namespace) := [{"node": node, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0)} |
	some ref in route.spec.parentRefs
	not object.get(ref, "kind", "Gateway") in {"Gateway", "ListenerSet"}
	node := parent_node(ref, namespace)
	keys.is_frontend(node)
]

# The endings of listeners that take a route with this hostname (no wildcard).
_endings(hostname) := array.concat([concat("", ["/", hostname])], _endings_above(substring(hostname, indexof(hostname, "."), -1))) if {
	contains(hostname, ".")
} else := [concat("", ["/", hostname])]

# Many hostnames share their domain.
_endings_above(domain) := [concat(".", array.concat([""], array.slice(labels, from, 100))) | some from, _ in labels; from > 0] if {
	labels := split(domain, ".")
}
