package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.request as requests

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
	message := requests.input_problem
} else := problem if {
	problem := queries.problem([["gateway", "optional node"]])
} else := queries.not_in_view("a Gateway") if {
	lookup.has_view
	count(requests.gateways) == 0
} else := requests.answer
