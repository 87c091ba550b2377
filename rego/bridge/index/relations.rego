package bridge.index

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The objects that stand above this one by any object's declaration, whether that counts or not.
declared_parents(key) := (linked - {default_gateways_key}) | default_gateways if {
	linked := _declared_neighbors("parents", key)
	default_gateways_key in linked
} else := _declared_neighbors("parents", key)

# METADATA
# description: The objects that stand below this one by any object's declaration, whether that counts or not.
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
# description: |
#   Some extension module makes links. Made once a query, so that where none does nobody looks for them.
has_extension_links if {
	some _ in data.index.extended
}

has_extension_links if changed_entries.extended

# METADATA
# description: The nodes that an extension module puts above an object or frontend, whether they exist or not.
declared_extension_parents(node) := _declared_ends("extended", node)

# METADATA
# description: The objects of a namespace, of kinds that have no level, which some link names.
members(namespace) := _declared_ends("members", namespace)

# METADATA
# description: The objects that refer into a namespace from another one.
referrers(namespace) := {key |
	some declarers in data.index.referrers[namespace]
	some key, _ in declarers
	not key in lookup.changed_keys
} | object.get(changed_entries, ["referrers", namespace, ""], set())

# What an object declares of itself stands apart from what others declare of it (docs/reference/documents.md).
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
