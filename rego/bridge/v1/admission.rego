package bridge.v1

import data.bridge.admission as deciding

# METADATA
# description: |
#   `admission`: what is said of a request to the API server, `{denied, warnings}`, lists of messages; the request is denied
#   if there is any message to deny it for. The input is an AdmissionRequest (admission.k8s.io/v1).
# entrypoint: true
admission := _error("InvalidInput", "the input must be an AdmissionRequest, with operation and kind") if {
	not _is_request
} else := {"denied": sort(deciding.denied), "warnings": sort(deciding.warnings)}

_is_request if {
	is_string(input.operation)
	is_string(input.kind.kind)
	is_string(input.kind.group)
}
