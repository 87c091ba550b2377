package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `affected`: what each of `objects` should show of the policies that affect it, `{object, types, controllers, conditions?,
#   listeners?, parents?, annotations?}`: a part for each place that its type has. `types` are all condition types and
#   annotations of these forms that are ours, so that what is untrue can be taken away; `former` names policy kinds that were
#   in force before, `{controllerName, kind}`, whose types are ours too. `affectedBy` and `unreported` hold by object, policy kind
#   and place the policies that act there and those that have no room for it; without them they are computed here.
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
