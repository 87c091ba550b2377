package bridge.kinds

import data.bridge.lib.likeness

# METADATA
# description: |
#   That the specs of a kind have no field at a path, with the nearest name: by the schema of its CRD, without a CRD by the
#   release whose fields the bridge ships. Undefined if they have, or if neither is known.
unknown_field(policy_kind, path) := sprintf("%s has no field %q%s", [policy_kind, name, _hint_at(name, known, policy_kind)]) if {
	fields := _fields_of(policy_kind)
	roots := [root |
		some place in get(policy_kind).places
		root := _below_16(fields, place.segments)
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
		some field in _names_in(_below_16(root, array.slice(path, 0, depth)))
	}
}

# The schema, or the released fields with the names of fields that may name items of a list.
_fields_of(policy_kind) := crds[policy_kind].schema if {
	true
} else := {"released": data.bridge_settings.fields[policy_kind].fields, "keys": item_keys, "item": false} if {
	item_keys := {"name"} | {rule.field | some rule in key_rules(get(policy_kind))}
}

_hint_at(name, known, policy_kind) := hint if {
	hint := likeness.hint(name, known)
	hint != ""
} else := sprintf(" in %s; for another release add its CRD", [data.bridge_settings.fields[policy_kind].release]) if {
	not crds[policy_kind]
} else := ""

# METADATA
# description: How a kind merges lists by a key, by its own rules and those of each of its strategies.
key_rules(kind) := {rule |
	some rules in array.concat([object.get(kind, "rules", [])], [rules | some rules in object.get(kind, "strategyRules", {})])
	some rule in rules
	rule.how == "key"
	rule.field != ""
}

_names_in(node) := object.keys(node.properties)
_names_in(node) := object.keys(node.released)

# The schema of a field below a node of a schema. Rego has no loop that carries a value, so the steps are written out.
_below_16(node, path) := _below_8(_below_8(node, array.slice(path, 0, 8)), array.slice(path, 8, 16))
_below_8(node, path) := _below_4(_below_4(node, array.slice(path, 0, 4)), array.slice(path, 4, 8))
_below_4(node, path) := _below_2(_below_2(node, array.slice(path, 0, 2)), array.slice(path, 2, 4))
_below_2(node, path) := _below_1(_below_1(node, array.slice(path, 0, 1)), array.slice(path, 1, 2))
_below_1(node, []) := node

_below_1(node, [name]) := _below_released(node, name) if {
	node.released
} else := node.properties[name] if {
	true
} else := node.items if {
	name != ""
} else := node.additionalProperties if {
	is_object(node.additionalProperties)
} else := {"type": "object", "properties": object.union_n([child.properties | some child in node.properties; child.properties])} if {
	name == "*"
	not _is_open(node)
	every child in node.properties {
		_has_fixed_fields(child)
	}
} else := _any if {
	name == "*"
} else := _any if {
	_is_open(node)
}

# Nothing but the properties of a schema is below it, or it is a plain value.
_has_fixed_fields(schema) if {
	not schema.items
	not _is_open(schema)
}

# A released field is null if anything may be below it. A list has the fields of its items, `*` is any name: of an
# item, or of a field.
_below_released(node, name) := _released(node.released[name], node) if {
	true
} else := _released(node.released["*"], node) if {
	true
} else := object.union(node, {"item": true, "released": object.union_n(array.concat([fields | some fields in node.released; fields != null], [node.released]))}) if {
	name == "*"
} else := object.union(node, {"item": true}) if {
	not node.item
	_may_be_item(node, name)
}

_may_be_item(_, name) if regex.match(`^[0-9]+$`, name)

_may_be_item(node, name) if {
	name != ""
	node.keys & object.keys(node.released) != set()
}

_released(null, _) := _any

_released(fields, node) := {"released": fields, "keys": node.keys, "item": false} if fields != null

_any := {"x-kubernetes-preserve-unknown-fields": true}

_is_open(node) if node["x-kubernetes-preserve-unknown-fields"]
_is_open(node) if node.additionalProperties

_is_open(node) if {
	not node.type
	not node.released
}
