package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `affected`: the desired conditions of each of `objects` that policies affect, `{object, types, controllers,
#   conditions?, listeners?, parents?, annotations?}`: one part for each place of its type. `types` are all condition
#   types and annotations that the bridge sets and removes; `former` are former policy kinds, `{controllerName, kind}`,
#   whose types are included. `affectedBy` and `unreported` have by object, policy kind and place the policies that act
#   there and those whose full list omits it; by default they are computed.
# entrypoint: true
affected := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := [reporting.affected_status(key, _affecting_policies(key), _unreported_policies(key), queries.former_kinds) |
	some key in input.objects
	lookup.get(key)
]

_affecting_policies(key) := object.get(input.affectedBy, key, {}) if input.affectedBy

_affecting_policies(key) := reporting.affecting_policies(key) if not input.affectedBy

_unreported_policies(key) := object.get(input, ["unreported", key], {}) if input.affectedBy

_unreported_policies(key) := reporting.unreported_policies(key) if not input.affectedBy
