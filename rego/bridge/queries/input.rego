# METADATA
# title: Parts of queries
# description: The shared parts of queries of `bridge.v1`.
package bridge.queries

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.likeness
import data.bridge.lookup
import data.bridge.request as requests

error(code, message) := {"error": {"code": code, "message": message}}

# The error that OPA has not had every object yet. Undefined where no bridge writes the objects.
not_ready := error("NotReady", "the initial sync of OPA is incomplete") if {
	data.bridge_settings.replicated
	not data.bridge_state.complete
}

# The same error of queries that answer during the first sync, too: OPA was emptied, and the bridge has not begun again.
emptied := not_ready if not data.bridge_state

# The error about a node or policy that is missing: where this OPA has a part of everything, it may exist elsewhere.
missing(key) := error("TargetNotFound", sprintf("%s does not exist", [key])) if {
	lookup.is_in_view(key)
} else := not_in_view(sprintf("%v", [key]))

not_in_view(what) := error("NotInView", sprintf("%s is not in the view %s: ask an OPA whose view has it", [what, data.bridge_view.name]))

_is_there(node) if lookup.is_in_view(hierarchy.canonical_key(node))

is_list(field) if is_array(input[field])

# The error about a field of the input that is neither one of these nor one of all queries. Undefined if there is none.
unknown_field(fields) := error("InvalidInput", likeness.unknown_field(object.keys(input), fields | requests.shared_fields)) if {
	not object.subset(fields | requests.shared_fields, object.keys(input))
}

# The first problem of a query's input: of the fields that several queries have, then of these fields, each `[field,
# form]` with a form of `_flaw`, or `[field, schema, message]` with the JSON Schema of an optional field.
problem(fields) := input_problem if {
	true
} else := [found | some field in fields; found := _flaw(field)][0]

# The first problem of the input fields that several queries have.
input_problem := _changes_problem if {
	"changes" in object.keys(input)
	_changes_problem
} else := error("InvalidInput", "sourceNamespace must be the name of a namespace") if {
	not is_string(source)
} else := error("UnknownPolicyKind", message) if {
	not kinds.get(input.policyKind)
	message := sprintf("%v is not an active policy kind; active kinds: %s", [input.policyKind, concat(", ", sort(kinds.in_use))])
} else := error("InvalidInput", sprintf("%s must be true or false", [wrong[0]])) if {
	wrong := [field | some field, value in object.filter(input, _flags); not is_boolean(value)]
}

# The text "false" would count as true.
_flags := {"allPaths", "everything", "fields", "identified", "problems", "refused", "skipMissing", "staged", "unmarked"}

_changes_problem := error("InvalidInput", "changes must be an object with upsert and delete") if {
	not is_object(input.changes)
} else := error("InvalidInput", replace(unknown, "the input", "changes")) if {
	unknown := likeness.unknown_field(object.keys(input.changes), {"delete", "upsert"})
} else := error("InvalidInput", "changes.upsert must be a list of objects with apiVersion, kind and metadata.name") if {
	not _are_objects(object.get(input, ["changes", "upsert"], []))
} else := error("InvalidInput", sprintf("changes.upsert has %s twice", [sort(lookup.duplicate_keys)[0]])) if {
	count(lookup.duplicate_keys) > 0
} else := error("InvalidInput", "changes.delete must be a list of keys") if {
	not _are_keys(object.get(input, ["changes", "delete"], []))
}

_are_objects(items) if {
	is_array(items)
	every obj in items {
		keys.of(obj)
	}
}

_are_keys(items) if {
	is_array(items)
	every key in items {
		keys.parse(key)
		keys.object_of(key) == key
	}
}

_flaw([field, schema, message]) := error("InvalidInput", message) if {
	not json.match_schema(object.filter(input, [field]), {"properties": {field: schema}})[0]
}

# A list that may be large: a schema would be compared with a copy of it.
_flaw([field, "list"]) := error("InvalidInput", sprintf("%s must be a list", [field])) if not is_list(field)

_flaw([field, "node"]) := _flaw_of_node(field)
_flaw([field, "optional node"]) := _flaw_of_node(field) if field in object.keys(input)

_flaw_of_node(field) := error("InvalidInput", sprintf("%s must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]", [field])) if {
	not keys.parse(object.get(input, field, ""))
} else := missing(input[field]) if {
	not _is_there(input[field])
}

# Keys of existing nodes.
_flaw([field, "nodes"]) := error("InvalidInput", sprintf("%s must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]", [field])) if {
	not is_list(field)
} else := error("InvalidInput", sprintf("%v is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>]", [wrong[0]])) if {
	lost := _missing(field)
	lost != []
	wrong := [target | some target in lost; not keys.parse(target)]
} else := missing(_missing(field)[0])

_missing(field) := [target | some target in input[field]; not hierarchy.canonical_key(target)] if {
	not lookup.has_view
} else := [target | some target in input[field]; not _is_there(target)]

# Queries of the bridge itself may name deleted objects; only the form is checked.
_flaw([field, "keys"]) := _flaw_of_keys(field)

_flaw_of_keys(field) := error("InvalidInput", sprintf("%s must be a list of keys, <group>/<Kind>/<namespace>/<name>", [field])) if {
	not is_list(field)
} else := error("InvalidInput", sprintf("%v is not a key: write <group>/<Kind>/<namespace>/<name>", [wrong[0]])) if {
	wrong := [key | some key in input[field]; not keys.parse(key)]
}

_flaw([field, "optional keys"]) := _flaw_of_keys(field) if object.get(input, field, null) != null

# Keys of existing objects, unless the caller skips missing ones: it has listed them before.
_flaw([field, "optional objects"]) := wrong if {
	object.get(input, field, null) != null
	wrong := _flaw_of_keys(field)
} else := first_missing(input[field])

# Keys of existing policies, or of PolicyKinds.
_flaw([field, "policies"]) := _flaw_of_keys(field) if {
	true
} else := first_missing(input[field]) if {
	true
} else := [wrong | not input.skipMissing; some key in input[field]; wrong := _no_policy(key)][0]

# The error about the first of these objects that does not exist.
first_missing(object_keys) := missing([key | not input.skipMissing; some key in object_keys; not lookup.get(key)][0])

_flaw([field, "policy"]) := error("InvalidInput", sprintf("%s must be a key, <group>/<Kind>/<namespace>/<name>", [field])) if {
	not keys.parse(object.get(input, field, ""))
} else := missing(input[field]) if {
	not lookup.get(input[field])
} else := error("UnknownPolicyKind", _no_policy_message(input[field])) if {
	not kinds.of_policy(input[field])
}

_no_policy(key) := error("UnknownPolicyKind", _no_policy_message(key)) if {
	not kinds.of_policy(key)
	keys.type_of(key) != kinds.policykind_type
}

_no_policy_message(key) := sprintf("%s is not a policy of an active kind; active kinds: %s", [key, concat(", ", sort(kinds.in_use))])

# Forms of required fields that a JSON Schema describes.
_flaw([field, form]) := error("InvalidInput", sprintf("%s must %s", [field, text])) if {
	[schema, text] := {
		"keys by kind": [
			{"type": "object", "additionalProperties": {"type": "array"}},
			"be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}",
		],
		"policy kind": [{}, "name a policy kind, <group>/<Kind>"],
		"type": [{"type": "string"}, "be a type, <group>/<Kind>"],
		"types": [{"type": "array"}, "be a list of <group>/<Kind>"],
	}[form]
	not json.match_schema(object.filter(input, [field]), {"required": [field], "properties": {field: schema}})[0]
}

policy_kinds := {input.policyKind} if {
	input.policyKind
} else := kinds.in_use

former_kinds := input.wanted.remediation.former if {
	true
} else := object.get(input, "former", [])

# The namespace that sends the requests, or "" for any (semantics P6).
source := object.get(input, "sourceNamespace", "")
