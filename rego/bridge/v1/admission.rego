package bridge.v1

import data.bridge.admission as deciding
import data.bridge.constraints as judging
import data.bridge.queries

# METADATA
# description: |
#   `admission`: the decision on a request to the API server, `{denied, warnings}`, lists of messages; any message in
#   `denied` denies the request. The input is an AdmissionRequest (admission.k8s.io/v1). A request that scales an object
#   is evaluated as an update of that object, and so is one that changes metadata by another subresource: of the latter,
#   only what was not violated before counts.
# entrypoint: true
admission := queries.error("InvalidInput", "the input must be an AdmissionRequest, with operation and kind") if {
	not _is_request
} else := {"denied": sort(deciding.denied | also.denied), "warnings": sort(deciding.warnings | also.warnings)} if {
	also := _judged_as_update
} else := {"denied": sort(deciding.denied), "warnings": sort(deciding.warnings)}

# METADATA
# description: |
#   The same decision without the effects of a policy. They depend on other objects, on which a module of an admin may
#   fail or take long: the webhook queries this decision then, so that no object of a user denies requests of others.
# entrypoint: true
admission_without_effects := found if {
	found := admission with deciding.effects as {"the effects of this policy are unknown: OPA could not compute them"}
}

_judged_as_update := {"denied": denied - denied_before, "warnings": warnings - warnings_before} if {
	update := deciding.metadata_update
	denied := deciding.denied with input as update
	warnings := deciding.warnings with input as update
	same := object.union(object.remove(update, ["object"]), {"object": update.oldObject})
	denied_before := deciding.denied with input as same
	warnings_before := deciding.warnings with input as same
}

# A request that scales an object is an update of that object too.
_judged_as_update := {"denied": denied, "warnings": warnings} if {
	update := deciding.scale_update
	denied := deciding.denied with input as update
	warnings := deciding.warnings with input as update
}

_is_request if {
	is_string(input.operation)
	is_string(input.kind.kind)
	is_string(input.kind.group)
}

# METADATA
# description: |
#   `violations`: the violations of Constraints by stored objects, as rows `{constraint, object, enforcementAction,
#   message, details}`. `objects` are the keys to evaluate, by default all of the kinds that a Constraint names;
#   `constraints` the names of the Constraints, by default all.
# entrypoint: true
violations := _audit_problem if {
	_audit_problem
} else := sort(judging.violations(_constraints, object.get(input, "objects", null)))

# METADATA
# description: |
#   `audit_keys`: the keys of the objects that Constraints match by their kind, by the Constraint's name. With
#   `namespaces` only those in them, of Constraints with a namespaceSelector.
# entrypoint: true
audit_keys := _audit_problem if {
	_audit_problem
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
constraints := _audit_problem if {
	_audit_problem
} else := [entry |
	some name in sort(_constraints)
	judging.all_constraints[name]
	entry := judging.report(name, object.get(input, "replicated", null), object.get(input, ["counted", name], null))
]

_audit_problem := queries.problem([
	["constraints", _texts, "constraints must be a list of names of Constraints"],
	["replicated", _texts, "replicated must be a list of types, <group>/<Kind>"],
	["namespaces", _texts, "namespaces must be a list of names of namespaces"],
	["objects", "optional keys"],
])

_texts := {"type": ["array", "null"], "items": {"type": "string"}}

_constraints := {name | some name in input.constraints} if {
	is_array(input.constraints)
} else := object.keys(judging.all_constraints)
