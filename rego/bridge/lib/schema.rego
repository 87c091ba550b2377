# METADATA
# title: Schemas of the bridge's own kinds
# description: |
#   An API server checks PolicyKinds, Constraints and RegoPolicies by the schema of their CRD. For a folder of
#   manifests this package applies the same schema, `data.bridge_settings.schemas[kind]`. Validation rules in CEL are
#   not applied, except those that refuse a removed field.
package bridge.lib.schema

import data.bridge.lib.likeness

# The errors of a spec by the schema of its kind, each as a message with the field, in a stable order.
problems(_, spec) := ["spec is not an object"] if not is_object(spec)
problems(kind, spec) := _problems(kind, spec, [schema | schema := _without_other_fields(kind)]) if is_object(spec)

# The same by a schema of an admin, in which an object is open unless the schema closes it.
problems_as_written(kind, value) := _problems(kind, value, [data.bridge_settings.schemas[kind]])

_problems(kind, spec, schemas) := [message | some [_, message] in sort(_removed(kind, spec) | {[place, message] |
	some schema in schemas
	[_, errors] := json.match_schema(spec, schema)
	some error in errors
	place := trim_prefix(trim_prefix(error.field, "(Root)"), ".")
	message := concat("", [_prefix(place), _explained(kind, spec, place, error)])
})]

# An API server prunes fields that a schema does not have, and kubectl refuses them.
_without_other_fields(kind) := json.patch(schema, [{"op": "add", "path": array.concat(path, ["additionalProperties"]), "value": false} |
	walk(schema, [path, node])
	node.type == "object"
	node.properties
	not node.additionalProperties
]) if schema := data.bridge_settings.schemas[kind]

_explained(kind, spec, place, error) := sprintf("unknown field %q%s", [name, likeness.hint(name, known)]) if {
	error.type == "additional_property_not_allowed"
	name := trim_suffix(trim_prefix(error.desc, "Additional property "), " is not allowed")
	known := {field | some field, node in _nodes(kind)[_in_schema(place)].properties; not _refusal(node)}
} else := sprintf("%s is not one of %s%s", [json.marshal(value), concat(", ", allowed), likeness.hint(sprintf("%v", [value]), allowed)]) if {
	error.type == "enum"
	value := object.get(spec, [_number(segment) | some segment in split(place, ".")], null)
	allowed := _nodes(kind)[_in_schema(place)].enum
} else := concat("", [lower(substring(error.desc, 0, 1)), substring(error.desc, 1, -1)])

_removed(kind, spec) := {[place, concat("", [_prefix(place), message])] |
	walk(spec, [path, _])
	place := concat(".", [sprintf("%v", [segment]) | some segment in path])
	message := _refusal(_nodes(kind)[_in_schema(place)])
}

# The message of a field that a validation rule always refuses.
_refusal(node) := message if {
	some validation in node["x-kubernetes-validations"]
	validation.rule == "false"
	message := validation.message
}

# The nodes of a schema by their place in a spec, where `items` is any item of a list.
_nodes(kind) := {concat(".", [segment | some segment in path; segment != "properties"]): node |
	walk(data.bridge_settings.schemas[kind], [path, node])
	is_object(node)
	array.slice(path, count(path) - 1, count(path)) != ["properties"]
	every segment in path {
		is_string(segment)
	}
}

_in_schema(place) := regex.replace(place, `\b[0-9]+\b`, "items")

_number(raw) := to_number(raw) if {
	regex.match(`^[0-9]+$`, raw)
} else := raw

_prefix("") := ""
_prefix(place) := sprintf("%s: ", [regex.replace(place, `\.([0-9]+)`, "[$1]")]) if place != ""
