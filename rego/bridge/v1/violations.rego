package bridge.v1

import data.bridge.constraints as judging
import data.bridge.queries

# METADATA
# description: |
#   `violations`: the violations of Constraints by stored objects, as rows `{constraint, object, enforcementAction,
#   message, details}`. `objects` are the keys to evaluate, by default all of the kinds that a Constraint names;
#   `constraints` the names of the Constraints, by default all.
# entrypoint: true
violations := queries.input_problem if {
	queries.input_problem
} else := _names_problem if {
	_names_problem
} else := sort(judging.violations(_constraints, object.get(input, "objects", null)))

# METADATA
# description: |
#   `audit_keys`: the keys of the objects that Constraints match by their kind, by the Constraint's name. With
#   `namespaces` only those in them, of Constraints with a namespaceSelector.
# entrypoint: true
audit_keys := queries.input_problem if {
	queries.input_problem
} else := _names_problem if {
	_names_problem
} else := {name: sort(judging.audit_keys_in(name, input.namespaces)) | some name in _constraints; judging.selects_by_namespace(name)} if {
	input.namespaces
} else := {name: sort(judging.audit_keys(name)) | some name in _constraints; judging.active_constraints[name]}

# METADATA
# description: |
#   `constraints`: for each of `constraints`, or for all, `{constraint, policy, enforcementAction, condition,
#   unaudited}`: the condition Accepted, and the types that it names and that are not replicated. `replicated` are the
#   types of objects (`<group>/<Kind>`) that are replicated, by default all. With `counted`, `{total, first}` of
#   violations by Constraint, also `{totalViolations, violations}` as in its status.
# entrypoint: true
constraints := queries.input_problem if {
	queries.input_problem
} else := _names_problem if {
	_names_problem
} else := [entry |
	some name in sort(_constraints)
	judging.all_constraints[name]
	entry := judging.report(name, object.get(input, "replicated", null), object.get(input, ["counted", name], null))
]

_names_problem := queries.error("InvalidInput", "constraints must be a list of names of Constraints") if {
	not _is_names("constraints")
} else := queries.error("InvalidInput", "replicated must be a list of types, <group>/<Kind>") if {
	not _is_names("replicated")
} else := queries.error("InvalidInput", "namespaces must be a list of names of namespaces") if {
	not _is_names("namespaces")
} else := queries.keys_problem("objects") if {
	object.get(input, "objects", null) != null
	queries.keys_problem("objects")
}

_is_names(field) if object.get(input, field, null) == null

_is_names(field) if {
	is_array(input[field])
	every name in input[field] {
		is_string(name)
	}
}

_constraints := {name | some name in input.constraints} if {
	object.get(input, "constraints", null) != null
} else := object.keys(judging.all_constraints)
