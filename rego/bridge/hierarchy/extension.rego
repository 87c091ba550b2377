package bridge.hierarchy

import data.bridge.index

# METADATA
# description: The nodes above an object or frontend that extension modules declare, if both ends exist.
extension_parents(node) := {parent |
	some parent in index.declared_extension_parents(node)
	canonical_key(parent) == parent
	canonical_key(node)
}
