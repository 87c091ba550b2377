package bridge.v1

import data.bridge.hierarchy
import data.bridge.queries

# METADATA
# description: |
#   The command of an implementation's own tool that prints the routes in the proxies of each of `gateways`, by Gateway.
#   Gateways of other implementations are not in the result.
# entrypoint: true
proxy_commands := problem if {
	problem := queries.problem([["gateways", "keys"]])
} else := {gateway: hierarchy.proxy_command(gateway) | some gateway in input.gateways}
