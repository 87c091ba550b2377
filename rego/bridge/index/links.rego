package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# title: Index
# description: |
#   The declarations of one object, each once: `{above, below, served, claims, extended, members, targets, classes,
#   selectors, oversized, facts}` (docs/reference/documents.md); a field without values is absent. A function of the
#   object only: queries decide whether a link counts. `entries` has the same in the form for the replicator. An initial
#   sync computes the links of every object: OPA evaluates functions of shared values once for a query.
links(obj) := links_of_type(keys.type(obj.apiVersion, obj.kind), obj)

# METADATA
# description: The same for an object of a known type.
links_of_type(type, obj) := of_level(levels.of_type(type), type, obj) if {
	not has_link_modules
	object.filter(obj.spec, target_fields) == {}
} else := of_level(levels.of_type(type), type, obj) if {
	not has_link_modules
	not is_object(obj.spec)
} else := object.union_n([
	of_level(levels.of_type(type), type, obj),
	target_links(obj),
	_extension_fields(of_level(levels.of_type(type), type, obj), extension_links(obj)),
])

# METADATA
# description: The declarations that the level of an object allows.
default of_level(_, _, _) := {}

of_level("Gateway", type, obj) := _present({
	"above": named_above("Gateway", obj),
	"below": named_below("Gateway", obj),
	"facts": {field: value | some field, value in facts_at("Listener", type, obj)},
})

of_level("ListenerSet", type, obj) := _present({
	"above": named_above("ListenerSet", obj),
	"claims": claimed(named_listeners(object.get(obj.spec, "listeners", []))),
	"facts": {field: value | some field, value in facts_at("Listener", type, obj)},
})

of_level("Route", type, obj) := {"above": above, "below": below, "served": found, "facts": facts_of_route} if {
	namespace := obj.metadata.namespace
	not obj.spec.useDefaultGateways
	above := parents_named(obj.spec.parentRefs, namespace)
	above != set()
	below := backends_of_rules(obj.spec.rules, namespace)
	below != set()
	_unleveled(above | below) == set()
	found := served_requests(type, obj.spec)
	facts_of_route := facts_at("Rule", type, obj)
} else := _present({
	"above": above,
	"below": below,
	"served": {name: values | count(above) > 0; some name, values in served_requests(type, obj.spec)},
	"members": _unleveled(above | below),
	"facts": {field: value | some field, value in facts_at("Rule", type, obj)},
}) if {
	above := named_above("Route", obj)
	below := named_below("Route", obj)
}

_present(fields) := {field: values | some field, values in fields; count(values) > 0}

# The links that extension modules declare, with the objects among their ends that need an index entry.
_extension_fields(_, extension_pairs) := {} if count(extension_pairs) == 0

_extension_fields(own, extension_pairs) := object.union({"extended": extension_pairs}, {"members": ends | count(ends) > 0}) if {
	count(extension_pairs) > 0
	ends := object.get(own, "members", set()) | _unleveled({keys.whole(node) | some link in extension_pairs; some node in link})
}

# The objects among the ends of links whose kinds have no level: only a link places them in the hierarchy, below their
# Namespace.
_unleveled(ends) := {trim_suffix(end, "@frontend") |
	some end in ends
	not strings.any_prefix_match(end, ["gateway.networking.k8s.io/", "core/"])
	not levels.by_type[keys.type_of(end)]
}
