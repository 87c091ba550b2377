package bridge.v1

import data.bridge.lookup
import data.bridge.status as reporting

# METADATA
# description: |
#   `affected`: what each of `objects` should show of the policies that affect it, `{object, types, controllers, conditions?,
#   listeners?, parents?, annotations?}`: a part for each place that its type has. `types` are all condition types and
#   annotations of these forms that are ours, so that what is untrue can be taken away; `former` names policy kinds that were
#   in force before, `{controllerName, kind}`, whose types are ours too. `acting` and `unreported` hold by object, policy kind
#   and place the policies that act there and those that have no room for it; without them they are computed here.
# entrypoint: true
affected := _input_problem if {
	_input_problem
} else := _keys_problem("objects") if {
	_keys_problem("objects")
} else := [reporting.affected(key, _acting(key), _unreported(key), _former) |
	some key in input.objects
	lookup.get(key)
]

_acting(key) := object.get(input.acting, key, {}) if input.acting

_acting(key) := reporting.acting(key) if not input.acting

_unreported(key) := object.get(input, ["unreported", key], {}) if input.acting

_unreported(key) := reporting.unreported(key) if not input.acting

_former := object.get(input, "former", [])
