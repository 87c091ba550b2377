package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The facts of a route: `type`, `namespace`, `sections` (the names of its rules), `parents` (the Gateways and
#   ListenerSets that its parentRefs name, `{object, section, port, text}`; `default_gateways_key` represents default
#   Gateways), `frontends` (those that they name, `{node, section, port}`, if there are any), and the facts of its
#   hostnames (see `hostname_facts`).
facts_at("Rule", type, route) := object.union_n([
	_parent_facts(type, namespace, object.get(route.spec, "parentRefs", []), object.get(route.spec, "useDefaultGateways", "None")),
	hostname_facts(object.get(route.spec, "hostnames", [])),
	{"sections": rule_names(object.get(route.spec, "rules", []))},
]) if {
	namespace := keys.namespace_name(object.get(route.metadata, "namespace", ""))
}

# Many routes of a namespace have the same parents.
_parent_facts(type, namespace, refs, scope) := object.union(
	{
		"by": stamp,
		"type": type,
		"namespace": namespace,
		"parents": array.concat(
			[{"object": key, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0), "text": json.marshal(ref)} |
				some ref in refs
				key := parent_key(ref, namespace)
				levels.of_type(keys.type_of(key)) != "Backend"
			],
			[{"object": key, "section": "", "port": 0, "text": ""} | some key in default_keys(scope)],
		),
	},
	{"frontends": nodes | nodes := _frontends(refs, namespace); nodes != []},
)

_frontends(refs, namespace) := [{"node": node, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0)} |
	some ref in refs
	not _has_listeners(ref)
	node := parent_node(ref, namespace)
	keys.is_frontend(node)
]

# Most parentRefs. The same kind name in another group, such as Istio's Gateway, is another kind.
_has_listeners(ref) if {
	object.get(ref, "kind", "Gateway") in {"Gateway", "ListenerSet"}
	keys.group_name(object.get(ref, "group", keys.gateway_api)) == keys.gateway_api
}
