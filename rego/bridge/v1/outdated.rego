package bridge.v1

import data.bridge.admission
import data.bridge.lookup
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   What a change of the objects `keys`, which had the index paths `was`, makes outdated: the parts that are `wanted`, by name
#   with the input of each. `scopes` and `objects` are those of `dependents`. `picture` are the objects whose `picture` the
#   change may affect, where `drawn` are those of `keys` that were drawn before. `guarded` are the objects that guardrails
#   must judge again.
# entrypoint: true
outdated := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := {name: found | some name, wanted in input.wanted; found := _outdated(name, wanted)}

_outdated("scopes", _) := queries.dependents.scopes
_outdated("objects", _) := queries.dependents.objects
_outdated("guarded", _) := sort(admission.concerned_objects)

_outdated("picture", wanted) := sort(topology.changed_entries(changed, object.get(input, "was", {}), appeared)) if {
	changed := {key | some key in input.keys}
	appeared := changed - {key | some key in object.get(wanted, "drawn", []); lookup.get(key)}
}
