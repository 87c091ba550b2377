package bridge.v1

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   `stamps`: by type, `<group>/<Kind>`, the current inputs of its facts besides the object: the `by` that stored facts
#   must have to count. A type whose facts depend only on the object, or that has no facts, is absent or has the stamp
#   "".
# entrypoint: true
stamps := object.union(
	{type: index.stamp | some type, level in levels.by_type; level.section in {"Listener", "Rule"}},
	{kind: kinds.stamp(kind) | some kind in kinds.names},
)

# METADATA
# description: |
#   `stale_facts`: those of `keys` whose stored facts differ from the facts of the stored object.
# entrypoint: true
stale_facts := {"error": {"code": "InvalidInput", "message": "keys must be a list of keys"}} if {
	not is_array(input.keys)
} else := [key |
	some key in input.keys
	_stored(key) != _stored_form(key)
]

_stored(key) := data.facts[group][kind][namespace][name] if {
	[group, kind, namespace, name] := split(key, "/")
} else := null

# Stored facts have lists where computed ones may have sets.
_stored_form(key) := json.unmarshal(json.marshal(declared_by(keys.type_of(key), lookup.get(key)).facts)) if {
	true
} else := null
