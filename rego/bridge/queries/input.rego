# METADATA
# title: Parts of queries
# description: The shared parts of queries of `bridge.v1`.
package bridge.queries

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# An error as the result of a query.
error(code, message) := {"error": {"code": code, "message": message}}

# A field of the input is a list.
is_list(field) if is_array(input[field])

# The first problem of the input fields that several queries have.
input_problem := _changes_problem if {
	input.changes
	_changes_problem
} else := error("InvalidInput", "sourceNamespace must be the name of a namespace") if {
	not is_string(object.get(input, "sourceNamespace", ""))
} else := error("UnknownPolicyKind", message) if {
	input.policyKind
	not kinds.get(input.policyKind)
	message := sprintf("%v is not an active policy kind; active kinds: %s", [input.policyKind, concat(", ", sort(kinds.in_use))])
}

_changes_problem := error("InvalidInput", "changes.upsert must be a list of objects with apiVersion, kind and metadata.name") if {
	not _are_objects(object.get(input, ["changes", "upsert"], []))
} else := error("InvalidInput", sprintf("changes.upsert holds %s twice", [sort(lookup.duplicate_keys)[0]])) if {
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
	}
}

# The first problem of the fields that several queries have and of a field of keys.
problem(field) := input_problem if {
	input_problem
} else := keys_problem(field)

# The problem of a field that is the key of an existing node.
node_problem(field) := error("InvalidInput", sprintf("%s must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]", [field])) if {
	not keys.parse(object.get(input, field, ""))
} else := error("TargetNotFound", sprintf("%s does not exist", [input[field]])) if {
	not hierarchy.canonical_key(input[field])
}

# The first problem of the input's `targets`.
targets_problem := error("InvalidInput", "targets must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not is_list("targets")
} else := _wrong_target(wrong) if {
	wrong := [target | some target in input.targets; not hierarchy.canonical_key(target)]
	wrong != []
}

_wrong_target(wrong) := error("InvalidInput", sprintf("%v is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>]", [target])) if {
	target := [target | some target in wrong; not keys.parse(target)][0]
} else := error("TargetNotFound", sprintf("%s does not exist", [wrong[0]]))

# The problem of a field of keys. Queries of the bridge itself may name deleted objects; only the form is checked.
keys_problem(field) := error("InvalidInput", sprintf("%s must be a list of keys, <group>/<Kind>/<namespace>/<name>", [field])) if {
	not is_list(field)
} else := error("InvalidInput", sprintf("%v is not a key: write <group>/<Kind>/<namespace>/<name>", [key])) if {
	key := [wrong | some wrong in input[field]; not keys.parse(wrong)][0]
}

# The policy kinds of a query: the one in the input, otherwise all that are in use.
policy_kinds := {input.policyKind} if {
	input.policyKind
} else := kinds.in_use

# The former policy kinds in the input.
former_kinds := object.get(input, "former", [])
