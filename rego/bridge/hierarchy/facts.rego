package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   What one object says of its place in the hierarchy, in the form that queries need: a function of that object alone. The
#   replicator stores it in `data.facts`; for what `changes` touch it is made here.
facts(object_key) := lookup.stored(object_key) if {
	true
} else := facts_of(lookup.get(object_key))

# METADATA
# description: What `facts` tells, made of an object. Each level's file has what its objects say.
facts_of(obj) := _facts_at(levels[type].section, type, obj) if {
	type := keys.type(obj.apiVersion, obj.kind)
}

_facts_at("Rule", type, route) := object.union_n([{"wild": wild | wild != []}, {"frontends": nodes | nodes := _frontends_of(route, namespace); nodes != []}, {
	"type": type,
	"namespace": namespace,
	"sections": _rule_names(object.get(route.spec, "rules", [])),
	"parents": [{"object": key, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0), "text": json.marshal(ref)} |
		some ref in route.spec.parentRefs
		key := _parent_key(ref, namespace)
		object_level(keys.type_of(key)) != "Backend"
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

_facts_at("Listener", type, obj) := {
	"listeners": named,
	"sections": [listener.name | some listener in named],
	"nodes": {ending: entries |
		some listener in named
		ending := _ending(lower(object.get(listener, "hostname", "")))
		entries := [_entry_of(self, other) | some other in named; _ending(lower(object.get(other, "hostname", ""))) == ending]
	},
	"type": type,
	"class": [keys.format(gateway_api, "GatewayClass", "", obj.spec.gatewayClassName) | object_level(type) == "Gateway"],
} if {
	self := keys.of(obj)
	named := _listeners_of(object.get(obj.spec, "listeners", []))
}

_entry_of(self, listener) := [
	keys.section(self, listener.name),
	listener.name,
	object.get(listener, "port", 0),
	object.get(listener, ["allowedRoutes", "namespaces"], {}),
	{
		"protocol": object.get(listener, "protocol", ""),
		"tls": {"mode": object.get(listener, ["tls", "mode"], "Terminate")},
		"allowedRoutes": {"kinds": object.get(listener, ["allowedRoutes", "kinds"], [])},
	},
]

_frontends_of(route, namespace) := [{"node": node, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0)} |
	some ref in route.spec.parentRefs
	not object.get(ref, "kind", "Gateway") in {"Gateway", "ListenerSet"}
	node := _parent_node(ref, namespace)
	is_frontend(node)
]
