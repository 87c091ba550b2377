package edge

import data.bridge.lib.keys
import data.bridge.request as requests
import data.bridge.routing
import data.bridge.table

# As the query of the hub; of a request that no rule serves, `nearest` has no candidates.
request := unanswered if {
	true
} else := _problem if {
	not _is_plain
	_problem
} else := routing.answer

_is_plain if {
	requests.is_plain
	_is_known(input.gateway)
}

_problem := {"error": {"code": "InvalidInput", "message": requests.form_problem}} if {
	true
} else := needs_objects("a request to a mesh frontend") if {
	endswith(input.gateway, "@frontend")
} else := {"error": {"code": "InvalidInput", "message": requests.gateway_message}} if {
	not _is_gateway(input.gateway)
} else := not_in_view(input.gateway) if {
	not _is_known(input.gateway)
} else := not_in_view("a Gateway") if {
	not input.gateway
	not _has_gateways
}

_has_gateways if table.entries[_].HTTP["*"]

# OPA converts what it reads of a document, so rules name its leaves.
_is_known(gateway) if table.entries[gateway].HTTP["*"]

_is_gateway(key) if {
	_is_known(key)
} else if {
	parts := keys.parse(key)
	parts.type == "gateway.networking.k8s.io/Gateway"
	parts.section == ""
}
