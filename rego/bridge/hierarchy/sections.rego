package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The nodes of an object's sections (listeners, route rules, Service ports).
sections(object_key) := {keys.section(object_key, name) | some name in section_names(object_key)}

# METADATA
# description: The section names of an object, in the object's order.
section_names(object_key) := [listener.name | some listener in listeners(object_key)] if {
	object_level(keys.parse(object_key).type) == "Gateway"
}

section_names(object_key) := [rule_name(rule, index) | some index, rule in rules(object_key)] if {
	object_level(keys.parse(object_key).type) == "Route"
}

section_names(object_key) := [port_name(port) | some port in ports(object_key)] if {
	keys.parse(object_key).type == "core/Service"
}

# METADATA
# description: |
#   The node that a key means: `#[n]` for a named rule and a port's number become their names (semantics K2, K3).
#   Undefined where the object or the section does not exist.
canonical(key) := key if {
	keys.parse(key).section == ""
	lookup.get(keys.parse(key).object)
}

canonical(key) := key if {
	parts := keys.parse(key)
	parts.section in {name | some name in section_names(parts.object)}
}

canonical(key) := keys.section(parts.object, names[to_number(index)]) if {
	parts := keys.parse(key)
	object_level(parts.type) == "Route"
	names := section_names(parts.object)
	not parts.section in {name | some name in names}
	regex.match(`^\[[0-9]{1,6}\]$`, parts.section)
	index := trim(parts.section, "[]")
}

canonical(key) := keys.section(parts.object, port_name(port)) if {
	parts := keys.parse(key)
	not parts.section in {name | some name in section_names(parts.object)}
	some port in ports(parts.object)
	parts.section == sprintf("%d", [port.port])
}

# METADATA
# description: The nodes of one object at a level, itself or its sections.
nodes_at(object_key, level_name) := {object_key} if {
	object_level(keys.parse(object_key).type) == level_name
	_has_place(object_key)
}

nodes_at(object_key, level_name) := sections(object_key) if levels[keys.parse(object_key).type].section == level_name

# An object of a type that is not listed is a backend only where something names it as one.
_has_place(object_key) if levels[keys.parse(object_key).type]

_has_place(object_key) if count(lookup.declared_parents(object_key)) > 0
