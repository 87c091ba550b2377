package bridge.v1

import data.bridge.hierarchy
import data.bridge.lib.levels
import data.bridge.queries

# METADATA
# description: |
#   The rules of routes that send requests to each of `backends`, a Service or another backend, by backend.
# entrypoint: true
rules_above := problem if {
	problem := queries.problem([["backends", "keys"]])
} else := {backend: sort(hierarchy.rules_above(backend)) |
	some backend in input.backends
	levels.of(backend) == "Backend"
}
