package bridge.index

import data.bridge.lib.keys

# Extension modules are packages `bridge.extensions.hierarchy.<name>` that an admin writes (design, "Hierarchy"):
# `levels` assigns levels to kinds, `virtual` lists kinds that no API server serves, `links` declares links of one
# object. Values of another form are ignored, and `extension_problems` reports them.

# METADATA
# description: |
#   The links that extension modules declare for one object, `[parent, child]`, nodes. The parent may be a section; the
#   child is an object or a frontend.
extension_links(obj) := {link |
	some name in link_modules
	some link in data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	is_link(link)
}

# METADATA
# description: The names of the extension modules that declare links. No object is evaluated for it, whose author could make it fail.
link_modules := {name | data.bridge.extensions.hierarchy[name].links with input as {}}

# METADATA
# description: Some extension module declares links.
has_link_modules if {
	count(link_modules) > 0
}

# METADATA
# description: A link of a module has the correct form.
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
