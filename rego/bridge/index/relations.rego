package bridge.index

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The objects above this one by any object's declaration, whether that counts or not.
declared_parents(key) := (linked - {default_gateways_key}) | default_gateways if {
	linked := _declared_neighbors("parents", key)
	default_gateways_key in linked
} else := _declared_neighbors("parents", key)

# METADATA
# description: The objects below this one by any object's declaration, whether that counts or not.
declared_children(key) := (linked - {default_gateways_key}) | _declared_neighbors("children", default_gateways_key) if {
	linked := _declared_neighbors("children", key)
	default_gateways_key in linked
} else := _declared_neighbors("children", key)

# METADATA
# description: The Gateways that routes have as default Gateways (Gateway API, Gateway.spec.defaultScope).
default_gateways := _declared_neighbors("parents", default_gateways_key)

# METADATA
# description: The mesh frontends that routes name, of any kind, whether they exist or not. Reads the keys of all links.
frontends := {node |
	data.index.children[_][node]
	keys.is_frontend(node)
} | {node |
	some node, _ in changed_entries.children
	keys.is_frontend(node)
}

# METADATA
# description: Some extension module declares links. Computed once for a query, which avoids lookups if no module does.
has_extension_links if {
	some _ in data.index.extended
}

has_extension_links if changed_entries.extended

# METADATA
# description: The nodes that an extension module places above an object or frontend, whether they exist or not.
declared_extension_parents(node) := _declared_ends("extended", node)

# METADATA
# description: The objects of a namespace, of kinds that have no level, which some link names.
members(namespace) := _declared_ends("members", namespace)

# METADATA
# description: The objects of other namespaces with references into a namespace.
referrers(namespace) := {key |
	some declarers in data.index.referrers[namespace]
	some key, _ in declarers
	not key in lookup.changed_keys
} | object.get(changed_entries, ["referrers", namespace, ""], set())

# An object's own declarations are stored separately from those of other objects (docs/reference/documents.md).
_declared_neighbors(direction, key) := ({other |
	not key in lookup.changed_keys
	some other in data.index.own[direction][keys.home(key)][key]
} | {other |
	some declarers in data.index[direction][keys.home(key)][key]
	some declarer, others in declarers
	not declarer in lookup.changed_keys
	some other in others
}) | object.get(changed_entries, [direction, key, ""], set())

_declared_ends(direction, key) := {other |
	some declarer, others in data.index[direction][key]
	not declarer in lookup.changed_keys
	some other in others
} | object.get(changed_entries, [direction, key, ""], set())
