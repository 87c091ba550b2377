# METADATA
# title: Queries
# description: |
#   The contract that clients program against, POST `/v1/data/bridge/v1/<name>` with `{"input": {…}}`. Bad input gives
#   `{"error": {"code", "message"}}`, never an empty result. Every query takes `changes`.
package bridge.v1

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

_error(code, message) := {"error": {"code": code, "message": message}}

_is_list(field) if is_array(input[field])

# What is wrong with the parts that several queries take; the first of them is told.
_input_problem := _changes_problem if {
	input.changes
	_changes_problem
} else := _error("InvalidInput", "sourceNamespace must be the name of a namespace") if {
	not is_string(object.get(input, "sourceNamespace", ""))
} else := _error("UnknownPolicyKind", message) if {
	input.policyKind
	not kinds.get(input.policyKind)
	message := sprintf("%v is no policy kind in force; these are: %s", [input.policyKind, concat(", ", sort(kinds.names))])
}

_changes_problem := _error("InvalidInput", "changes.upsert must be a list of objects with apiVersion, kind and metadata.name") if {
	not is_array(object.get(input, ["changes", "upsert"], []))
} else := _error("InvalidInput", "changes.upsert must be a list of objects with apiVersion, kind and metadata.name") if {
	some obj in object.get(input, ["changes", "upsert"], [])
	not keys.of(obj)
} else := _error("InvalidInput", sprintf("changes.upsert holds %s twice", [sort(lookup.twice)[0]])) if {
	count(lookup.twice) > 0
} else := _error("InvalidInput", "changes.delete must be a list of keys") if {
	not is_array(object.get(input, ["changes", "delete"], []))
} else := _error("InvalidInput", "changes.delete must be a list of keys") if {
	some key in object.get(input, ["changes", "delete"], [])
	not keys.parse(key)
}

_targets_problem := _error("InvalidInput", "targets must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not _is_list("targets")
} else := _wrong_target(wrong) if {
	wrong := [target | some target in input.targets; not hierarchy.canonical(target)]
	wrong != []
}

_wrong_target(wrong) := _error("InvalidInput", sprintf("%v is no key: write <group>/<Kind>/<namespace>/<name>[#<section>]", [target])) if {
	target := [target | some target in wrong; not keys.parse(target)][0]
} else := _error("TargetNotFound", sprintf("%s does not exist", [wrong[0]]))

# Queries of the bridge itself name things that may be gone; only their form is judged.
_keys_problem(field) := _error("InvalidInput", sprintf("%s must be a list of keys, <group>/<Kind>/<namespace>/<name>", [field])) if {
	not _is_list(field)
} else := _error("InvalidInput", sprintf("%v is no key: write <group>/<Kind>/<namespace>/<name>", [key])) if {
	key := [wrong | some wrong in input[field]; not keys.parse(wrong)][0]
}

_policy_kinds := {input.policyKind} if input.policyKind

_policy_kinds := kinds.names if not input.policyKind
