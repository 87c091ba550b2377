package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   `picture_roots`: the keys of the first objects of a picture of the hierarchy, from the top down, in lists for
#   consecutive queries.
# entrypoint: true
picture_roots := queries.input_problem if {
	queries.input_problem
} else := topology.picture_roots

# METADATA
# description: |
#   `picture`: the picture of each of `objects`, `{nodes, edges, refused, alone}` by key; objects without a place in it
#   are absent. `nodes` has `{level, policies, parameters?}` by key, `edges` are `[parent, child]`. An edge may end at
#   an object that is not in `objects`.
# entrypoint: true
picture := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := {key: entry | some key in input.objects; entry := topology.entry(key)}

# METADATA
# description: |
#   `picture_changes`: the objects whose `picture` a change of the objects `keys` may affect. `was` has by key the
#   previous index paths of an object, `drawn` names those of `keys` that were drawn before.
# entrypoint: true
picture_changes := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("keys") if {
	queries.keys_problem("keys")
} else := sort(topology.changed_entries(changed, object.get(input, "was", {}), appeared)) if {
	changed := {key | some key in input.keys}
	drawn := {key | some key in object.get(input, "drawn", [])}
	appeared := {key | some key in changed; not _stays(key, drawn)}
}

_stays(key, drawn) if {
	key in drawn
	lookup.get(key)
}
