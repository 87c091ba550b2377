package bridge.hierarchy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   An object exists (semantics P2, T2): it is held, or it is of a virtual type, of which any name exists. Takes the key
#   of an object, without a section or role.
exists(object_key) if {
	lookup.holds(object_key)
} else if {
	virtual(keys.parse(object_key).type)
}

# METADATA
# description: |
#   Types of objects that no API server knows, as an extension module says, or a PolicyKind by `virtual` of a target
#   (semantics T2).
virtual(type) if type in _virtual_types

_virtual_types contains type if some type in levels.virtual

_virtual_types contains concat("/", [target.group, target.kind]) if {
	some name in kinds.names
	some target in kinds.get(name).targets
	target.virtual
}
