package bridge.v1

import data.bridge.admission as deciding
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
