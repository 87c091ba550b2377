package bridge.kinds

import data.bridge.lib.likeness

# METADATA
# description: |
#   That the specs of a kind have no field at a path, by the schema of its CRD, with the nearest name; undefined if they
#   have, or if no schema is known.
unknown_field(policy_kind, path) := sprintf("%s has no field %q%s", [policy_kind, name, likeness.hint(name, known)]) if {
	roots := [root |
		some place in get(policy_kind).places
		root := object.get(crds[policy_kind].schema, array.flatten([["properties", segment] | some segment in place.segments]), {})
		root != {}
	]
	roots != []
	every root in roots {
		not _below_16(root, path)
	}
	depth := max([length | some root in roots; some length in numbers.range(0, count(path)); _below_16(root, array.slice(path, 0, length))])
	name := path[depth]
	known := {field |
		some root in roots
		some field, _ in _below_16(root, array.slice(path, 0, depth)).properties
	}
}

# The schema of a field below a node of a schema. Rego has no loop that carries a value, so the steps are written out.
_below_16(node, path) := _below_8(_below_8(node, array.slice(path, 0, 8)), array.slice(path, 8, 16))
_below_8(node, path) := _below_4(_below_4(node, array.slice(path, 0, 4)), array.slice(path, 4, 8))
_below_4(node, path) := _below_2(_below_2(node, array.slice(path, 0, 2)), array.slice(path, 2, 4))
_below_2(node, path) := _below_1(_below_1(node, array.slice(path, 0, 1)), array.slice(path, 1, 2))
_below_1(node, []) := node

_below_1(node, [name]) := node.properties[name] if {
	true
} else := node.items if {
	true
} else := node.additionalProperties if {
	is_object(node.additionalProperties)
} else := _any if {
	name == "*"
} else := _any if {
	_is_open(node)
}

_any := {"x-kubernetes-preserve-unknown-fields": true}

_is_open(node) if node["x-kubernetes-preserve-unknown-fields"]
_is_open(node) if node.additionalProperties
_is_open(node) if not node.type
