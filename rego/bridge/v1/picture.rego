package bridge.v1

import data.bridge.lookup
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   `picture_roots`: the keys of the objects that a picture of the hierarchy begins with, from the top down, in lists that may be asked for one
#   after the other.
# entrypoint: true
picture_roots := queries.input_problem if {
	queries.input_problem
} else := topology.picture_roots

# METADATA
# description: |
#   `picture`: what a picture tells of each of `objects`, `{nodes, edges, refused, alone}` by key; what has no place there is
#   absent. `nodes` has `{level, policies, parameters?}` by key, `edges` are `[parent, child]`. An edge may lead to an object that is not asked for.
# entrypoint: true
picture := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("objects") if {
	queries.keys_problem("objects")
} else := {key: entry | some key in input.objects; entry := topology.entry(key)}

# METADATA
# description: |
#   `picture_changes`: the objects of which `picture` may tell something else after the objects `keys` have changed. `was` holds by key the
#   index paths that an object had before, `drawn` names those of `keys` that were told of before.
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
