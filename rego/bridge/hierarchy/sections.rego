package bridge.hierarchy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

sections(object_key) := {keys.section(object_key, name) | some name in section_names(object_key)}

# The same without listeners that are not accepted (see `unaccepted_listeners`).
accepted_sections(object_key) := {node |
	unaccepted := unaccepted_listeners(object_key)
	some name in section_names(object_key)
	not unaccepted[name]
	node := keys.section(object_key, name)
}

section_names(object_key) := index.facts(object_key).sections if {
	not startswith(object_key, "core/Service/")
} else := port_names(object_key) if {
	levels.by_type[keys.type_of(object_key)].section == "Port"
}

# The rule of a route, as it is written, that is this node. Undefined for other nodes.
rule_of(node) := lookup.get(parts.object).spec.rules[position] if {
	parts := keys.parse(node)
	some position, name in section_names(parts.object)
	name == parts.section
}

# The matches of a rule. One without any matches all (HTTPRouteRule.matches).
written_matches(rule) := rule.matches if {
	count(rule.matches) > 0
} else := [{}]

# The node that a key means: `#[n]` for a named rule and a port's number become their names (semantics K2, K3).
# Undefined if the object or the section does not exist.
canonical_key(key) := key if {
	[object_key, section] := split(key, "#")
	section in section_names(object_key)
} else := key if {
	not regex.match(`[#@]`, key)
	exists(key)
} else := key if {
	# A frontend has no sections: a route that names one of its ports is still a route of the frontend.
	levels.of(key) == "Frontend"
	exists(trim_suffix(key, "@frontend"))
} else := keys.section(parts.object, name) if {
	parts := keys.parse(key)
	parts.role == ""
	name := _section_spellings(parts.object)[parts.section]
} else := key if {
	# For an object that is not stored, every section is accepted.
	parts := keys.parse(key)
	parts.role == ""
	levels.has_sections(parts.type)
	_is_virtual(parts.type)
}

# The accepted forms of an object's sections, form > name. Names take precedence over other forms.
_section_spellings(object_key) := object.union_n([
	{sprintf("[%d]", [position]): name | level == "Route"; some position, name in names},
	{number: with_number[0] |
		# Two ports may share a number, one for TCP and one for UDP; then the number means the first.
		level == "Backend"
		some number in {sprintf("%d", [port.port]) | some port in ports(object_key)}
		with_number := [names[position] | some position, port in ports(object_key); sprintf("%d", [port.port]) == number]
	},
	{name: name | some name in names},
]) if {
	level := levels.of_type(keys.parse(object_key).type)
	names := section_names(object_key)
}

# The nodes of one object, or of one frontend, at a level: the object itself or its sections. A missing object has none
# (semantics P2).
nodes_at(object_key, level_name) := {object_key} if {
	levels.of(object_key) == level_name
	has_place(object_key)
} else := accepted_sections(object_key) if {
	levels.by_type[keys.type_of(object_key)].section == level_name
	not keys.is_frontend(object_key)
}

# An object exists (semantics P2) and is part of the hierarchy. An object of an unlisted type is a backend only if
# another object names it as one.
has_place(object_key) if {
	levels.by_type[keys.parse(object_key).type]
	exists(object_key)
} else if {
	exists(object_key)
	count(index.declared_parents(object_key)) > 0
} else if {
	index.has_extension_links
	exists(object_key)
	_is_placed_by_a_kind(keys.type_of(object_key))
}

_is_placed_by_a_kind(type) if kinds.sets.placed[type]
_is_placed_by_a_kind(type) if kinds.sets.placing[type]

# An object exists (semantics P2, T2): it is stored, or it is of a virtual type, of which every name exists. The
# argument is the key of an object, without a section or role.
exists(object_key) if {
	lookup.has_object(object_key)
} else if {
	_is_virtual(keys.parse(object_key).type)
}

# Types of objects that no API server serves, declared by an extension module, or by `virtual` of a target in a
# PolicyKind (semantics T2).
_is_virtual(type) if type in levels.virtual_types
_is_virtual(type) if kinds.sets.virtual[type]
