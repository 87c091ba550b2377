package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# Extension modules are packages `bridge.extensions.hierarchy.<name>` that an admin writes (design, "Hierarchy"): `levels`
# names kinds and their places, `virtual` kinds that no API server knows, `links` what one object declares. What has
# another shape is left out here and told by `extension_problems`.

# METADATA
# description: |
#   The levels that extension modules give to further types. Of two modules that name one type the first by name has it;
#   shipped types stay what they are.
extension_levels := {type: _claims(type)[0] |
	some by_type in _module_levels
	some type, _ in by_type
	is_type(type)
	count(_claims(type)) > 0
}

_claims(type) := [at |
	some name in sort(object.keys(_module_levels))
	at := _module_levels[name][type]
	is_level(at)
]

_module_levels := {name: by_type |
	by_type := data.bridge.extensions.hierarchy[name].levels
	is_object(by_type)
}

# METADATA
# description: A text names a type, `<group>/<Kind>`.
is_type(text) if regex.match(`^[^/#@]+/[^/#@]+$`, text)

# METADATA
# description: |
#   What a module may say of a type: `object`, the level of its objects, a shipped one or one of its own, and `section`,
#   that of their sections.
is_level(at) if {
	is_object(at)
	regex.match(`^[A-Z][A-Za-z]*$`, at.object)
	not at.object in {"Listener", "Rule", "Port", "Frontend", "Target", "Namespace"}
	object.get(at, "section", "Port") in {"Listener", "Rule", "Port"}
}

# METADATA
# description: The types of which any name exists, by extension modules.
extension_virtual := {type |
	some type in data.bridge.extensions.hierarchy[_].virtual
	is_type(type)
}

# METADATA
# description: |
#   The links that extension modules make of one object, `[parent, child]`, nodes. The parent may be a section; the child
#   is an object or a frontend.
extension_links(obj) := {link |
	some name in _link_modules
	some link in data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	is_link(link)
}

_link_modules := {name | data.bridge.extensions.hierarchy[name].links}

# METADATA
# description: A module's link has the shape that counts.
is_link(link) if {
	is_array(link)
	[parent, child] := link
	keys.parse(parent).role in {"", "frontend"}
	_whole(keys.parse(child))
}

_whole(parts) if {
	parts.section == ""
	parts.role in {"", "frontend"}
}

# The object, or frontend, of a link's parent, which is what the index knows.
_link_edges(obj) := {[_whole_key(link[0]), link[1]] | some link in extension_links(obj)}

_whole_key(node) := node if {
	not contains(node, "#")
} else := keys.parse(node).object

# METADATA
# description: |
#   The nodes that stand above an object or frontend by extension modules, where both ends exist.
extension_parents(node) := {parent |
	some parent in lookup.extended(node)
	canonical(parent) == parent
	canonical(node)
}
