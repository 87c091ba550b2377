package bridge.v1

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.nearest
import data.bridge.queries
import data.bridge.request as requests
import data.bridge.table

# METADATA
# description: |
#   The rule that serves a request, by Gateway API's precedence, its backends, and the effective policies of every kind
#   there; if no rule matches, how far the request gets.
# entrypoint: true
request := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.input_problem
} else := queries.error("InvalidInput", message) if {
	message := requests.form_problem
} else := queries.error("InvalidInput", requests.gateway_message) if {
	gateway := input.gateway
	not _takes_requests(gateway)
} else := problem if {
	problem := queries.problem([["gateway", "optional node"]])
} else := queries.not_in_view("a Gateway") if {
	lookup.has_view
	count(table.gateways) == 0
} else := nearest.answer

_takes_requests(key) if {
	keys.parse(key).section == ""
	levels.of(key) in {"Gateway", "Frontend"}
}
