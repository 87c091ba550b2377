package bridge.v1

import data.bridge.admission
import data.bridge.lookup
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   What a change of the objects `keys`, which had the index paths `was`, concerns: the parts that are `wanted`, by name
#   with the input of each. `scopes` and `objects` are those of `dependents`. `picture` are the objects whose `picture` the
#   change may affect, where `drawn` are those of `keys` that were drawn before. `guarded` are the objects that guardrails
#   must judge again.
# entrypoint: true
concerned := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := {name: found | some name, wanted in input.wanted; found := _concerned(name, wanted)}

_concerned("scopes", _) := queries.dependents.scopes
_concerned("objects", _) := queries.dependents.objects
_concerned("guarded", _) := sort(admission.concerned_objects)

_concerned("picture", wanted) := sort(topology.changed_entries(changed, object.get(input, "was", {}), appeared)) if {
	changed := {key | some key in input.keys}
	appeared := changed - {key | some key in object.get(wanted, "drawn", []); lookup.get(key)}
}
