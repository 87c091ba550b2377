package bridge.hierarchy

import data.bridge.index

# METADATA
# description: The nodes that stand above an object or frontend by extension modules, where both ends exist.
extension_parents(node) := {parent |
	some parent in index.declared_extension_parents(node)
	canonical_key(parent) == parent
	canonical_key(node)
}
