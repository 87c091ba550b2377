package bridge.hierarchy

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   An object exists (semantics P2, T2): it is stored, or it is of a virtual type, of which every name exists. The
#   argument is the key of an object, without a section or role.
exists(object_key) if {
	lookup.has_object(object_key)
} else if {
	is_virtual(keys.parse(object_key).type)
}

# METADATA
# description: |
#   Types of objects that no API server serves, declared by an extension module, or by `virtual` of a target in a
#   PolicyKind (semantics T2).
is_virtual(type) if type in levels.virtual_types

is_virtual(type) if kinds.sets.virtual[type]
